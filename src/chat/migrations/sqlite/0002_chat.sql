-- The chat stream app: what was asked, and what the model answered. Times are milliseconds since 1970.

CREATE TABLE prompts (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  req_id     TEXT NOT NULL UNIQUE,
  text       TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX prompts_by_age ON prompts (created_at);

-- Apart from the prompts, because the text is written again and again while it grows.
-- The row is the claim: whoever inserts it asks the model, and nobody else does.
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
