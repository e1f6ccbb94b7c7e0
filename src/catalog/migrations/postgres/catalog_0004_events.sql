-- The change log becomes the feed of /events as well: logged, because followers go on after a crash, and in an order. What is in
-- it is for caches alone, and they begin anew. A node of the version before may still write rows, so all new columns have a
-- default.

DROP TABLE change_log;

-- Drawn when a transaction holds all its locks; see database/postgres/history.ts.
CREATE SEQUENCE change_log_positions;

CREATE TABLE change_log (
  position       bigint NOT NULL DEFAULT nextval('change_log_positions'),
  transaction_id bigint NOT NULL,
  -- A list of changes; see database/change.ts.
  changes        json NOT NULL,
  -- How many events they have for followers.
  events         integer NOT NULL DEFAULT 0,
  -- A random number; 0 for a row that is for caches alone.
  tag            bigint NOT NULL DEFAULT 0,
  -- In milliseconds since 1970.
  logged_at      bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
);

CREATE UNIQUE INDEX change_log_by_position ON change_log (position) INCLUDE (events);
CREATE INDEX change_log_by_transaction ON change_log (transaction_id);
-- Rows of transactions that changed nothing are removed early.
CREATE INDEX change_log_without_events ON change_log (position) WHERE events = 0;
