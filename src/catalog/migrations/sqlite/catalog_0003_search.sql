-- The index behind search, filters and orders (storage/index/). Triggers note which rows have changed; the service reads these,
-- cuts their texts into words, and keeps what it needs of them here. So an index is no older than the last search, and writes
-- cost little.

CREATE TABLE index_notes (
  number INTEGER PRIMARY KEY,
  -- A table of the catalog; or 'product_values' if the words of a product are as before.
  part   TEXT NOT NULL,
  id     INTEGER NOT NULL
) STRICT;

-- The form of what is in the index, in one row. Another version of the program with another form makes it again.
CREATE TABLE index_form (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  number   INTEGER NOT NULL,
  is_built INTEGER NOT NULL
) STRICT;

CREATE TABLE product_facts (
  id           INTEGER PRIMARY KEY,
  category_id  INTEGER,
  price        REAL NOT NULL,
  sort_name    TEXT NOT NULL,
  -- The words of the name, joined by blanks.
  beginning    TEXT NOT NULL,
  score        REAL NOT NULL,
  review_count INTEGER NOT NULL,
  average      REAL
) STRICT;

-- With all that facets count.
CREATE INDEX product_facts_by_category ON product_facts (category_id, price, average);
CREATE INDEX product_facts_by_price ON product_facts (price);
CREATE INDEX product_facts_by_name ON product_facts (sort_name);
CREATE INDEX product_facts_by_score ON product_facts (score);
CREATE INDEX product_facts_by_reviews ON product_facts (review_count);

-- For lists of products without a category, which `products_by_category` does not have.
CREATE INDEX products_without_category ON products (category_id) WHERE category_id IS NULL;

CREATE TABLE category_facts (
  id        INTEGER PRIMARY KEY,
  sort_name TEXT NOT NULL,
  beginning TEXT NOT NULL
) STRICT;

CREATE INDEX category_facts_by_name ON category_facts (sort_name);

CREATE TABLE user_facts (
  id        INTEGER PRIMARY KEY,
  sort_name TEXT NOT NULL,
  beginning TEXT NOT NULL
) STRICT;

CREATE INDEX user_facts_by_name ON user_facts (sort_name);

-- The words of an item, those of its name once more with a mark before them, and the first one of its name with another.
CREATE VIRTUAL TABLE product_words USING fts5
  (words, content='', contentless_delete=1, detail=none, tokenize='ascii', prefix='1 2 3 4');
CREATE VIRTUAL TABLE category_words USING fts5
  (words, content='', contentless_delete=1, detail=none, tokenize='ascii', prefix='1 2 3 4');
CREATE VIRTUAL TABLE user_words USING fts5
  (words, content='', contentless_delete=1, detail=none, tokenize='ascii', prefix='1 2 3 4');

-- By default, a segment is written again when a tenth of its items were changed: a changed item then makes ten others be written.
INSERT INTO product_words (product_words, rank) VALUES ('deletemerge', 25);
INSERT INTO category_words (category_words, rank) VALUES ('deletemerge', 25);
INSERT INTO user_words (user_words, rank) VALUES ('deletemerge', 25);

CREATE TRIGGER products_created_noted AFTER INSERT ON products BEGIN
  INSERT INTO index_notes (part, id) VALUES ('products', new.id);
END;
-- To take words into the index costs ten times as much as all else.
CREATE TRIGGER products_updated_noted AFTER UPDATE OF category_id, name, price, description ON products
WHEN new.name <> old.name OR new.description <> old.description OR new.price <> old.price
  OR new.category_id IS NOT old.category_id BEGIN
  INSERT INTO index_notes (part, id) VALUES (
    iif(new.name = old.name AND new.description = old.description, 'product_values', 'products'), new.id
  );
END;
CREATE TRIGGER products_renumbered_noted AFTER UPDATE OF id ON products WHEN new.id <> old.id BEGIN
  INSERT INTO index_notes (part, id) VALUES ('products', old.id), ('products', new.id);
END;
CREATE TRIGGER products_deleted_noted AFTER DELETE ON products BEGIN
  INSERT INTO index_notes (part, id) VALUES ('products', old.id);
END;

CREATE TRIGGER ratings_created_noted AFTER INSERT ON product_ratings BEGIN
  INSERT INTO index_notes (part, id) VALUES ('product_values', new.product_id);
END;
CREATE TRIGGER ratings_updated_noted AFTER UPDATE ON product_ratings BEGIN
  INSERT INTO index_notes (part, id) VALUES ('product_values', new.product_id);
END;
CREATE TRIGGER ratings_deleted_noted AFTER DELETE ON product_ratings BEGIN
  INSERT INTO index_notes (part, id) VALUES ('product_values', old.product_id);
END;

CREATE TRIGGER categories_created_noted AFTER INSERT ON categories BEGIN
  INSERT INTO index_notes (part, id) VALUES ('categories', new.id);
END;
CREATE TRIGGER categories_updated_noted AFTER UPDATE OF name, description ON categories BEGIN
  INSERT INTO index_notes (part, id) VALUES ('categories', new.id);
END;
CREATE TRIGGER categories_renumbered_noted AFTER UPDATE OF id ON categories WHEN new.id <> old.id BEGIN
  INSERT INTO index_notes (part, id) VALUES ('categories', old.id), ('categories', new.id);
END;
CREATE TRIGGER categories_deleted_noted AFTER DELETE ON categories BEGIN
  INSERT INTO index_notes (part, id) VALUES ('categories', old.id);
END;

CREATE TRIGGER users_created_noted AFTER INSERT ON users BEGIN
  INSERT INTO index_notes (part, id) VALUES ('users', new.id);
END;
CREATE TRIGGER users_updated_noted AFTER UPDATE OF name, email ON users BEGIN
  INSERT INTO index_notes (part, id) VALUES ('users', new.id);
END;
CREATE TRIGGER users_renumbered_noted AFTER UPDATE OF id ON users WHEN new.id <> old.id BEGIN
  INSERT INTO index_notes (part, id) VALUES ('users', old.id), ('users', new.id);
END;
CREATE TRIGGER users_deleted_noted AFTER DELETE ON users BEGIN
  INSERT INTO index_notes (part, id) VALUES ('users', old.id);
END;

INSERT INTO index_notes (part, id) SELECT 'products', id FROM products;
INSERT INTO index_notes (part, id) SELECT 'categories', id FROM categories;
INSERT INTO index_notes (part, id) SELECT 'users', id FROM users;

-- The index of an empty catalog is complete.
INSERT INTO index_form (id, number, is_built) SELECT 1, 1, NOT EXISTS (SELECT 1 FROM index_notes);
