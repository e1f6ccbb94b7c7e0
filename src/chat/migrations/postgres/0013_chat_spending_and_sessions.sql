-- What a client has spent in a day, if there are bounds per day: an address, for example. Days count from 1970, in UTC.

CREATE TABLE chat_spending (
  day     int NOT NULL,
  account text NOT NULL,
  answers bigint NOT NULL,
  tokens  bigint NOT NULL,
  PRIMARY KEY (day, account)
);

-- The secret behind the signatures of sessions, in hexadecimal digits. It is made when it is first needed.
CREATE TABLE chat_secret (
  id     int PRIMARY KEY CHECK (id = 1),
  secret text NOT NULL
);
