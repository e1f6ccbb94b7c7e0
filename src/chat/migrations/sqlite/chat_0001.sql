-- The chat app: prompts and answers. Times are milliseconds since 1970. PostgreSQL's prompts have a flag for a claimed
-- answer; here one writer at a time can look for the answer's row.

CREATE TABLE prompts (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  req_id     TEXT NOT NULL UNIQUE,
  text       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- The sender's address, for the limits per address. It is removed after a day.
  address    TEXT
) STRICT;

CREATE INDEX prompts_by_age ON prompts (created_at);
-- Unlike on PostgreSQL, with the id, which leads to the answer's row without a look at the prompt.
CREATE INDEX prompts_by_address ON prompts (address, created_at, req_id) WHERE address IS NOT NULL;

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

-- What a client has spent in a day, if there are bounds per day: an address, for example. Days count from 1970, in UTC.

CREATE TABLE chat_spending (
  day     INTEGER NOT NULL,
  account TEXT NOT NULL,
  answers INTEGER NOT NULL,
  tokens  INTEGER NOT NULL,
  PRIMARY KEY (day, account)
) STRICT, WITHOUT ROWID;

-- The secret behind the signatures of sessions, in hexadecimal digits. It is made when it is first needed.
CREATE TABLE chat_secret (
  id     INTEGER PRIMARY KEY CHECK (id = 1),
  secret TEXT NOT NULL
) STRICT;
