-- The terminal chat: accounts, rooms and messages. Times are milliseconds since 1970.

CREATE TABLE accounts (
  username        TEXT NOT NULL PRIMARY KEY,
  password_sha256 TEXT NOT NULL CHECK (length(password_sha256) = 64),
  created_at      INTEGER NOT NULL
) STRICT;

-- One room per account, with its name.
CREATE TABLE rooms (
  name TEXT NOT NULL PRIMARY KEY REFERENCES accounts (username)
) STRICT;

-- An answer refers to its prompt, because two terminals may talk in one room at the same time.
CREATE TABLE messages (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  room      TEXT NOT NULL REFERENCES rooms (name),
  sender    TEXT NOT NULL,
  text      TEXT NOT NULL,
  sent_at   INTEGER NOT NULL,
  answer_to INTEGER REFERENCES messages (id) ON DELETE CASCADE,
  stopped   INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX messages_by_room ON messages (room, id);
CREATE INDEX messages_by_prompt ON messages (answer_to);
