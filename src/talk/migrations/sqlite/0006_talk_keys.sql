-- Users and rooms are keyed by name, as on PostgreSQL. SQLite cannot change a key in place, so each table is rebuilt.
-- The old tables are overwritten: otherwise the file would still contain messages that are deleted later.

PRAGMA secure_delete = ON;

CREATE TABLE new_accounts (
  username        TEXT NOT NULL PRIMARY KEY,
  password_sha256 TEXT NOT NULL CHECK (length(password_sha256) = 64),
  created_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE new_rooms (
  name TEXT NOT NULL PRIMARY KEY REFERENCES new_accounts (username)
) STRICT;

CREATE TABLE new_messages (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  room      TEXT NOT NULL REFERENCES new_rooms (name),
  sender    TEXT NOT NULL,
  text      TEXT NOT NULL,
  sent_at   INTEGER NOT NULL,
  answer_to INTEGER REFERENCES new_messages (id) ON DELETE CASCADE,
  stopped   INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO new_accounts SELECT username, password_sha256, created_at FROM accounts;
INSERT INTO new_rooms SELECT name FROM rooms;
INSERT INTO new_messages
  SELECT message.id, rooms.name, sender, text, sent_at, answer_to, stopped
  FROM messages AS message JOIN rooms ON rooms.id = room_id ORDER BY message.id;

-- The ids of deleted messages are not used again.
DELETE FROM sqlite_sequence WHERE name = 'new_messages';
INSERT INTO sqlite_sequence (name, seq) SELECT 'new_messages', seq FROM sqlite_sequence WHERE name = 'messages';

DROP TABLE messages;
DROP TABLE rooms;
DROP TABLE accounts;

PRAGMA secure_delete = OFF;

-- Renaming a table also renames it in the foreign keys that refer to it.
ALTER TABLE new_accounts RENAME TO accounts;
ALTER TABLE new_rooms RENAME TO rooms;
ALTER TABLE new_messages RENAME TO messages;

CREATE INDEX messages_by_room ON messages (room, id);
CREATE INDEX messages_by_prompt ON messages (answer_to);
