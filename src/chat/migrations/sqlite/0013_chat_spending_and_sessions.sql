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
