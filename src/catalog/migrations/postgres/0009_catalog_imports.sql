-- How far each interrupted import came; see loading/loader.ts.

CREATE TABLE imports (
  file     text PRIMARY KEY,
  records  bigint NOT NULL,
  checksum text NOT NULL
);
