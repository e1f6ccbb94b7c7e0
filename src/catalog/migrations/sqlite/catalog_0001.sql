-- The store catalog: categories, products, users and reviews.
-- AUTOINCREMENT, because an id is never used again after a delete. A revision is a random number, and another one after
-- each update of its row, for `If-Match`.

CREATE TABLE categories (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  name        TEXT NOT NULL,
  description TEXT NOT NULL,
  revision    INTEGER NOT NULL DEFAULT (random() & 0xffffffffffff)
) STRICT;

CREATE TABLE products (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  category_id INTEGER REFERENCES categories (id) ON DELETE SET NULL,
  name        TEXT NOT NULL,
  price       REAL NOT NULL CHECK (price > 0),
  description TEXT NOT NULL,
  revision    INTEGER NOT NULL DEFAULT (random() & 0xffffffffffff)
) STRICT;

-- Every SQLite index ends with the row's id, so each of these also gives its rows in order of id.
CREATE INDEX products_by_category ON products (category_id) WHERE category_id IS NOT NULL;

CREATE TABLE users (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  name          TEXT NOT NULL,
  email         TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  is_active     INTEGER NOT NULL,
  is_admin      INTEGER NOT NULL,
  is_banned     INTEGER NOT NULL,
  is_blocked    INTEGER NOT NULL,
  is_deleted    INTEGER NOT NULL,
  is_suspended  INTEGER NOT NULL,
  is_verified   INTEGER NOT NULL,
  avatar        TEXT NOT NULL,
  revision      INTEGER NOT NULL DEFAULT (random() & 0xffffffffffff)
) STRICT;

CREATE TABLE reviews (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  product_id INTEGER NOT NULL REFERENCES products (id) ON DELETE CASCADE,
  user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  rating     INTEGER NOT NULL CHECK (rating BETWEEN 1 AND 5),
  comment    TEXT NOT NULL,
  revision   INTEGER NOT NULL DEFAULT (random() & 0xffffffffffff)
) STRICT;

-- The reviews of a product or a user are written at different times, so they are on as many pages of their table, and reading
-- those takes longer than everything else. These indexes have all that a product or user shows of them. SQLite compares whole
-- records to find a place in an index, so long comments are left out. The expression is that of `indexedColumn`
-- (storage/sqlite/reader.ts), without octet_length, which tools older than SQLite 3.43 do not know. The reviews of a product by
-- a user are found in either index.
CREATE INDEX reviews_by_product
  ON reviews (product_id, id, user_id, rating, iif(length(CAST(comment AS BLOB)) <= 300, comment, NULL));
CREATE INDEX reviews_by_user
  ON reviews (user_id, id, product_id, rating, iif(length(CAST(comment AS BLOB)) <= 300, comment, NULL));

-- Ids alone, so that a deep skip walks a few narrow pages and never the rows that it passes over.
CREATE UNIQUE INDEX categories_by_id ON categories (id);
CREATE UNIQUE INDEX products_by_id ON products (id);
CREATE UNIQUE INDEX users_by_id ON users (id);
CREATE UNIQUE INDEX reviews_by_id ON reviews (id);

-- For other programs, which do not know the column. Only fields of the row itself count, so a product whose category is deleted
-- keeps its revision.
CREATE TRIGGER categories_revised AFTER UPDATE OF name, description ON categories
WHEN new.revision = old.revision BEGIN
  UPDATE categories SET revision = random() & 0xffffffffffff WHERE id = new.id;
END;

CREATE TRIGGER products_revised AFTER UPDATE OF name, price, description ON products
WHEN new.revision = old.revision BEGIN
  UPDATE products SET revision = random() & 0xffffffffffff WHERE id = new.id;
END;

CREATE TRIGGER users_revised AFTER UPDATE OF name, email, avatar, password_hash, is_active, is_admin, is_banned, is_blocked,
  is_deleted, is_suspended, is_verified ON users
WHEN new.revision = old.revision BEGIN
  UPDATE users SET revision = random() & 0xffffffffffff WHERE id = new.id;
END;

CREATE TRIGGER reviews_revised AFTER UPDATE OF product_id, user_id, rating, comment ON reviews
WHEN new.revision = old.revision BEGIN
  UPDATE reviews SET revision = random() & 0xffffffffffff WHERE id = new.id;
END;

-- Answers to requests with an Idempotency-Key, kept for a day; see idempotency/keys.ts.

CREATE TABLE idempotency_keys (
  -- A hash of the key: nobody can learn from this table what a body contained.
  key         TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  -- In milliseconds since 1970.
  created_at  INTEGER NOT NULL,
  -- What it counts for towards the limit.
  bytes       INTEGER NOT NULL,
  answer      TEXT NOT NULL,
  -- That of the created resource, unless there were many.
  revision    INTEGER
) STRICT;

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at, bytes);

-- The secret that hashes and fingerprints are made with, from the first use on.
CREATE TABLE idempotency_secrets (
  name   TEXT PRIMARY KEY,
  secret TEXT NOT NULL
) STRICT;
