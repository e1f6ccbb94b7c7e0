-- The store catalog: categories, products, users and reviews.
-- AUTOINCREMENT, because an id is never used again after a delete.

CREATE TABLE categories (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  name        TEXT NOT NULL,
  description TEXT NOT NULL
) STRICT;

CREATE TABLE products (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  category_id INTEGER REFERENCES categories (id) ON DELETE SET NULL,
  name        TEXT NOT NULL,
  price       REAL NOT NULL CHECK (price > 0),
  description TEXT NOT NULL
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
  avatar        TEXT NOT NULL
) STRICT;

CREATE TABLE reviews (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  product_id INTEGER NOT NULL REFERENCES products (id) ON DELETE CASCADE,
  user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  rating     INTEGER NOT NULL CHECK (rating BETWEEN 1 AND 5),
  comment    TEXT NOT NULL
) STRICT;

CREATE INDEX reviews_by_product ON reviews (product_id);
CREATE INDEX reviews_by_user ON reviews (user_id);
CREATE INDEX reviews_by_product_and_user ON reviews (product_id, user_id);

-- Ids alone, so that a deep skip walks a few narrow pages and never the rows that it passes over.
CREATE UNIQUE INDEX categories_by_id ON categories (id);
CREATE UNIQUE INDEX products_by_id ON products (id);
CREATE UNIQUE INDEX users_by_id ON users (id);
CREATE UNIQUE INDEX reviews_by_id ON reviews (id);
