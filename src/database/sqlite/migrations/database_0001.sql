-- What changed in each commit: see change-log.ts. Earlier builds created the table at each start.
CREATE TABLE IF NOT EXISTS change_log (
  place         INTEGER PRIMARY KEY,
  commit_number INTEGER NOT NULL,
  changes       TEXT NOT NULL,
  -- For followers: when it was written, a random tag, and the number of all events up to this row.
  logged_at     INTEGER NOT NULL DEFAULT 0,
  tag           INTEGER NOT NULL DEFAULT 0,
  events        INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The beginning for followers, so that no start of a service has to write. Rows with the tag 0 lack what followers need, so the
-- log begins anew after them.
INSERT INTO change_log (place, commit_number, changes, logged_at, tag, events)
SELECT coalesce(max(place), 0) + 1, -1, '[ ]', CAST(unixepoch('subsec') * 1000 AS INTEGER), 1 + (random() & 4294967295),
  coalesce(max(events), 0) + 1
FROM change_log HAVING coalesce(min(tag), 0) = 0;

DELETE FROM change_log WHERE place <= (SELECT max(place) FROM change_log WHERE tag = 0);
