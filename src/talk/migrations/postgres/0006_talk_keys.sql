-- Every room belongs to a user, as on SQLite.

ALTER TABLE rooms ADD FOREIGN KEY (name) REFERENCES accounts (username);
