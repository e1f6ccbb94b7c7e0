-- What each transaction has changed, for the caches of all nodes. Old rows are removed. A node that misses a row clears its
-- cache, so rows may be lost: after a crash the table is empty.

CREATE UNLOGGED TABLE change_log (
  transaction_id bigint NOT NULL,
  collection     text NOT NULL,
  -- Rows as [id, referenced ids before, referenced ids after].
  changes        json NOT NULL
);

CREATE INDEX change_log_by_transaction ON change_log (transaction_id);
