-- What other programs write. Each step is a statement of its own, because Citus forwards the text of what it was sent.

DO $$
DECLARE
  schema text := (SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = 'index_notes'::regclass);
  called text;
BEGIN
  -- The triggers find the tables also if the program that writes has another search path, as pg_dump sets one without any schema.
  FOREACH called IN ARRAY ARRAY['count_reviews', 'forget_ratings', 'note_added', 'note_removed', 'note_changed_products',
    'note_changed_categories', 'note_changed_users', 'note_truncated'] LOOP
    EXECUTE format('ALTER FUNCTION %I() SET search_path = %s, pg_temp', called, schema);
  END LOOP;
  -- Infinity, and NaN, which sorts above it, are not in JSON. Rows that have them already stay.
  EXECUTE 'ALTER TABLE products ADD CONSTRAINT products_price_is_finite CHECK (price < ''Infinity'') NOT VALID';
END $$;
