-- The chat app: prompts and answers. Times are milliseconds since 1970. PostgreSQL's prompts have a flag for a claimed
-- answer; here one writer at a time can look for the answer's row.

CREATE TABLE prompts (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  req_id     TEXT NOT NULL UNIQUE,
  text       TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX prompts_by_age ON prompts (created_at);

-- Not a part of the prompts, because the text is written again and again while it grows.
-- The row is the claim: only the process that inserts it asks the model.
CREATE TABLE answers (
  req_id     TEXT NOT NULL PRIMARY KEY REFERENCES prompts (req_id) ON DELETE CASCADE,
  state      TEXT NOT NULL CHECK (
    state IN ('waiting', 'running', 'finished', 'stopped', 'unheard', 'failed', 'interrupted')
  ),
  text       TEXT NOT NULL DEFAULT '',
  failure    TEXT CHECK ((failure IS NOT NULL) = (state = 'failed')),
  stop_asked INTEGER NOT NULL DEFAULT 0,
  alive_at   INTEGER NOT NULL,
  heard_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX answers_under_way ON answers (alive_at) WHERE state IN ('waiting', 'running');
