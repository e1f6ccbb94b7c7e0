-- How far each interrupted import came; see loading/loader.ts.

CREATE TABLE imports (
  file     TEXT PRIMARY KEY,
  records  INTEGER NOT NULL,
  checksum TEXT NOT NULL
) STRICT;
