-- Answers to requests with an Idempotency-Key, kept for a day; see idempotency/keys.ts.

CREATE TABLE idempotency_keys (
  -- A hash of the key: nobody can learn from this table what a body contained.
  key         text PRIMARY KEY,
  fingerprint text NOT NULL,
  -- In milliseconds since 1970.
  created_at  bigint NOT NULL,
  -- What it counts for towards the limit.
  bytes       bigint NOT NULL,
  answer      text NOT NULL
);

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at, bytes);

-- The secret that hashes and fingerprints are made with, from the first use on.
CREATE TABLE idempotency_secrets (
  name   text PRIMARY KEY,
  secret text NOT NULL
);
