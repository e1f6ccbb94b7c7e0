-- Access keys: the SHA-256 digests of their secrets, in hexadecimal. Times are milliseconds since 1970.

CREATE TABLE access_keys (
  name       TEXT NOT NULL PRIMARY KEY,
  sha256     TEXT NOT NULL UNIQUE CHECK (length(sha256) = 64),
  scope      TEXT NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
  created_at INTEGER NOT NULL
) STRICT;
