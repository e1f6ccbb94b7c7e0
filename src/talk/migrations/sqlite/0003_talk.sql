-- The terminal chat: accounts, rooms and messages. Times are milliseconds since 1970.

CREATE TABLE accounts (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  username        TEXT NOT NULL UNIQUE,
  password_sha256 TEXT NOT NULL CHECK (length(password_sha256) = 64),
  created_at      INTEGER NOT NULL
) STRICT;

-- One room per account, with its name.
CREATE TABLE rooms (
  id   INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE REFERENCES accounts (username)
) STRICT;

-- An answer refers to its prompt, because two terminals may talk in one room at the same time.
CREATE TABLE messages (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  room_id   INTEGER NOT NULL REFERENCES rooms (id),
  sender    TEXT NOT NULL,
  text      TEXT NOT NULL,
  sent_at   INTEGER NOT NULL,
  answer_to INTEGER REFERENCES messages (id) ON DELETE CASCADE,
  stopped   INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX messages_by_room ON messages (room_id, id);
CREATE INDEX messages_by_prompt ON messages (answer_to) WHERE answer_to IS NOT NULL;
