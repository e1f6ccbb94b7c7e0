-- The index behind search, filters and orders (storage/index/). Triggers note which rows have changed; the service reads these,
-- cuts their texts into words, and keeps what it needs of them here. So an index is no older than the last search, and writes
-- cost little.

-- The form of what is in the index, in one row. Another version of the program with another form makes it again.
CREATE TABLE index_form (
  id       bigint PRIMARY KEY CHECK (id = 1),
  number   bigint NOT NULL,
  is_built boolean NOT NULL
);

CREATE TABLE product_facts (
  id           bigint PRIMARY KEY,
  category_id  bigint,
  price        double precision NOT NULL,
  sort_name    text COLLATE "C" NOT NULL,
  -- The words of the name, joined by blanks.
  beginning    text COLLATE "C" NOT NULL,
  score        double precision NOT NULL,
  review_count bigint NOT NULL,
  average      double precision,
  -- The words of the item, those of its name once more with a mark before them, and the first one of its name with another.
  words        tsvector NOT NULL
);

CREATE INDEX product_facts_by_category ON product_facts (category_id, price, id);
CREATE INDEX product_facts_by_price ON product_facts (price, id);
CREATE INDEX product_facts_by_name ON product_facts (sort_name, id);
CREATE INDEX product_facts_by_score ON product_facts (score, id);
CREATE INDEX product_facts_by_reviews ON product_facts (review_count, id);
CREATE INDEX product_facts_by_words ON product_facts USING gin (words) WITH (gin_pending_list_limit = 256);

CREATE TABLE category_facts (
  id        bigint PRIMARY KEY,
  sort_name text COLLATE "C" NOT NULL,
  beginning text COLLATE "C" NOT NULL,
  words     tsvector NOT NULL
);

CREATE INDEX category_facts_by_name ON category_facts (sort_name, id);
CREATE INDEX category_facts_by_words ON category_facts USING gin (words) WITH (gin_pending_list_limit = 256);

CREATE TABLE user_facts (
  id        bigint PRIMARY KEY,
  sort_name text COLLATE "C" NOT NULL,
  beginning text COLLATE "C" NOT NULL,
  words     tsvector NOT NULL
);

CREATE INDEX user_facts_by_name ON user_facts (sort_name, id);
CREATE INDEX user_facts_by_words ON user_facts USING gin (words) WITH (gin_pending_list_limit = 256);

-- The first argument is the part.
CREATE FUNCTION note_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO index_notes (part, id) SELECT TG_ARGV[0], id FROM added;
  RETURN NULL;
END $$;

CREATE FUNCTION note_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO index_notes (part, id) SELECT TG_ARGV[0], id FROM removed;
  RETURN NULL;
END $$;

-- Those of which the index has something that changed. If another program changes an id, both are noted.
CREATE FUNCTION note_changed_products() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO index_notes (part, id)
  SELECT CASE WHEN (added.name, added.description) IS NOT DISTINCT FROM (removed.name, removed.description)
    THEN 'product_values' ELSE 'products' END, id
  FROM added FULL JOIN removed USING (id)
  WHERE (added.category_id, added.name, added.price, added.description)
    IS DISTINCT FROM (removed.category_id, removed.name, removed.price, removed.description);
  RETURN NULL;
END $$;

CREATE FUNCTION note_changed_categories() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO index_notes (part, id)
  SELECT 'categories', id FROM added FULL JOIN removed USING (id)
  WHERE (added.name, added.description) IS DISTINCT FROM (removed.name, removed.description);
  RETURN NULL;
END $$;

CREATE FUNCTION note_changed_users() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO index_notes (part, id)
  SELECT 'users', id FROM added FULL JOIN removed USING (id)
  WHERE (added.name, added.email) IS DISTINCT FROM (removed.name, removed.email);
  RETURN NULL;
END $$;

-- Notes what the index has, because the rows are gone.
CREATE FUNCTION note_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('INSERT INTO index_notes (part, id) SELECT %L, id FROM %I', TG_ARGV[0], TG_ARGV[1]);
  RETURN NULL;
END $$;

CREATE TRIGGER products_created_noted AFTER INSERT ON products
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION note_added('products');
CREATE TRIGGER products_updated_noted AFTER UPDATE ON products
REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION note_changed_products();
CREATE TRIGGER products_deleted_noted AFTER DELETE ON products
REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION note_removed('products');
CREATE TRIGGER products_truncated_noted AFTER TRUNCATE ON products
FOR EACH STATEMENT EXECUTE FUNCTION note_truncated('products', 'product_facts');

CREATE TRIGGER categories_created_noted AFTER INSERT ON categories
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION note_added('categories');
CREATE TRIGGER categories_updated_noted AFTER UPDATE ON categories
REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION note_changed_categories();
CREATE TRIGGER categories_deleted_noted AFTER DELETE ON categories
REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION note_removed('categories');
CREATE TRIGGER categories_truncated_noted AFTER TRUNCATE ON categories
FOR EACH STATEMENT EXECUTE FUNCTION note_truncated('categories', 'category_facts');

CREATE TRIGGER users_created_noted AFTER INSERT ON users
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION note_added('users');
CREATE TRIGGER users_updated_noted AFTER UPDATE ON users
REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION note_changed_users();
CREATE TRIGGER users_deleted_noted AFTER DELETE ON users
REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION note_removed('users');
CREATE TRIGGER users_truncated_noted AFTER TRUNCATE ON users
FOR EACH STATEMENT EXECUTE FUNCTION note_truncated('users', 'user_facts');

-- After the triggers, because creating them waits for the transactions that have changed rows.
INSERT INTO index_notes (part, id) SELECT 'products', id FROM products;
INSERT INTO index_notes (part, id) SELECT 'categories', id FROM categories;
INSERT INTO index_notes (part, id) SELECT 'users', id FROM users;

-- The index of an empty catalog is complete.
INSERT INTO index_form (id, number, is_built) SELECT 1, 1, NOT EXISTS (SELECT 1 FROM index_notes);
