-- Access keys: the SHA-256 digests of their secrets, in hexadecimal.

CREATE TABLE access_keys (
  name       text PRIMARY KEY,
  sha256     text NOT NULL UNIQUE CHECK (length(sha256) = 64),
  scope      text NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
  created_at timestamptz NOT NULL DEFAULT now()
);
