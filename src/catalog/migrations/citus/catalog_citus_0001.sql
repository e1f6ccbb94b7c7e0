-- Spreads the tables of the catalog over the workers of Citus, in one transaction, whether they are empty or full. Products are
-- distributed by their ids, and their reviews and ratings are on the same shards. Categories and users are whole on every
-- server. All other tables, with those of the search index, stay on the coordinator. Commands are separated by empty lines.

SET LOCAL citus.multi_shard_modify_mode = 'sequential'

-- Distributed tables have no triggers. The service does what they did; other programs must do so, too.
DROP TRIGGER categories_revised ON categories

DROP TRIGGER products_revised ON products

DROP TRIGGER users_revised ON users

DROP TRIGGER reviews_revised ON reviews

DROP TRIGGER reviews_created_counted ON reviews

DROP TRIGGER reviews_updated_counted ON reviews

DROP TRIGGER reviews_deleted_counted ON reviews

DROP TRIGGER reviews_truncated_counted ON reviews

DROP TRIGGER products_created_noted ON products

DROP TRIGGER products_updated_noted ON products

DROP TRIGGER products_deleted_noted ON products

DROP TRIGGER products_truncated_noted ON products

DROP TRIGGER categories_created_noted ON categories

DROP TRIGGER categories_updated_noted ON categories

DROP TRIGGER categories_deleted_noted ON categories

DROP TRIGGER categories_truncated_noted ON categories

DROP TRIGGER users_created_noted ON users

DROP TRIGGER users_updated_noted ON users

DROP TRIGGER users_deleted_noted ON users

DROP TRIGGER users_truncated_noted ON users

ALTER TABLE product_ratings DROP CONSTRAINT product_ratings_product_id_fkey

ALTER TABLE reviews DROP CONSTRAINT reviews_product_id_fkey, DROP CONSTRAINT reviews_user_id_fkey

ALTER TABLE products DROP CONSTRAINT products_category_id_fkey

-- The id up to which all rows of a collection are committed on every worker: see storage/citus/shown-ids.ts.
CREATE TABLE shown_ids (
  collection text PRIMARY KEY,
  last_id    bigint NOT NULL
) WITH (fillfactor = 10)

-- Workers would draw ids of their own from identity columns. So ids come from sequences of the coordinator that belong to no
-- table, with the names that they had.
DO $$
DECLARE collection text; next bigint;
BEGIN
  FOREACH collection IN ARRAY ARRAY['categories', 'products', 'users', 'reviews'] LOOP
    EXECUTE format('SELECT last_value + is_called::int FROM %I', collection || '_id_seq') INTO next;
    EXECUTE format('ALTER TABLE %I ALTER id DROP IDENTITY', collection);
    EXECUTE format('CREATE SEQUENCE %I START %s', collection || '_id_seq', next);
    INSERT INTO shown_ids VALUES (collection, next - 1);
  END LOOP;
END $$

-- A unique key must contain the column that rows are distributed by. The index by product then serves as the primary key.
ALTER TABLE reviews DROP CONSTRAINT reviews_pkey

DROP INDEX reviews_by_product

ALTER TABLE reviews ADD CONSTRAINT reviews_pkey PRIMARY KEY (product_id, id)

CREATE INDEX reviews_by_id ON reviews (id)

SELECT create_reference_table('categories')

SELECT create_reference_table('users')

SELECT create_distributed_table('products', 'id')

SELECT create_distributed_table('reviews', 'product_id', colocate_with => 'products')

SELECT create_distributed_table('product_ratings', 'product_id', colocate_with => 'products')

ALTER TABLE product_ratings ADD CONSTRAINT product_ratings_product_id_fkey
  FOREIGN KEY (product_id) REFERENCES products (id) ON DELETE CASCADE

ALTER TABLE reviews ADD CONSTRAINT reviews_product_id_fkey
  FOREIGN KEY (product_id) REFERENCES products (id) ON DELETE CASCADE

-- Nothing cascades across shards by itself: a transaction that deletes a category or a user also changes what refers to it,
-- because only so it learns what that was. The check at the end makes sure that it missed none.
ALTER TABLE products ADD CONSTRAINT products_category_id_fkey
  FOREIGN KEY (category_id) REFERENCES categories (id) DEFERRABLE INITIALLY DEFERRED

ALTER TABLE reviews ADD CONSTRAINT reviews_user_id_fkey
  FOREIGN KEY (user_id) REFERENCES users (id) DEFERRABLE INITIALLY DEFERRED

-- The number of the worker that has a product, and the transactions that are prepared there: see storage/citus/finished-notes.ts.
CREATE FUNCTION prepared_transactions(product_id bigint) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT (SELECT groupid FROM pg_dist_local_group) || coalesce(string_agg(' ' || gid, ''), '') FROM pg_prepared_xacts
$$

SELECT create_distributed_function('prepared_transactions(bigint)', '$1', colocate_with => 'products')
