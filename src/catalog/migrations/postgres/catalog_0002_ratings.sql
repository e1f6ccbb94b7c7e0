-- How many reviews of one to five stars each product has. A product that never had a review has no row. Counts, because they can
-- be taken back exactly, which a mean cannot. Triggers keep them, so they also see cascades, imports and other programs.

CREATE TABLE product_ratings (
  product_id  bigint PRIMARY KEY REFERENCES products (id) ON DELETE CASCADE,
  one_star    bigint NOT NULL,
  two_stars   bigint NOT NULL,
  three_stars bigint NOT NULL,
  four_stars  bigint NOT NULL,
  five_stars  bigint NOT NULL
);

-- The rows that have changed since the index was last brought up to date (catalog_0003_search.sql). Here, because the statement
-- that changes counts also notes their products: further triggers on the counts would cost as much as the counts themselves.
CREATE TABLE index_notes (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- A table of the catalog; or 'product_values' if the words of a product are as before.
  part   text NOT NULL,
  id     bigint NOT NULL
);

-- Adds what a statement changed, in one pass in the order of product ids: rows are locked as the pass reaches them, so two
-- statements never wait for each other. Products whose counts stay the same are not locked. If a product is being deleted, its
-- row may be gone already, and a removed review must not bring it back.
CREATE FUNCTION count_reviews() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    -- A transaction of many statements adds its reviews at its end (bulk/postgres.ts).
    IF current_setting('stockroom.ratings', true) = 'later' THEN RETURN NULL; END IF;
    WITH changed AS (INSERT INTO product_ratings AS kept (product_id, one_star, two_stars, three_stars, four_stars, five_stars)
    SELECT product_id, count(*) FILTER (WHERE rating = 1), count(*) FILTER (WHERE rating = 2),
      count(*) FILTER (WHERE rating = 3), count(*) FILTER (WHERE rating = 4), count(*) FILTER (WHERE rating = 5)
    FROM added GROUP BY product_id ORDER BY product_id
    ON CONFLICT (product_id) DO UPDATE
    SET one_star = kept.one_star + excluded.one_star, two_stars = kept.two_stars + excluded.two_stars,
      three_stars = kept.three_stars + excluded.three_stars, four_stars = kept.four_stars + excluded.four_stars,
      five_stars = kept.five_stars + excluded.five_stars
    RETURNING product_id)
    INSERT INTO index_notes (part, id) SELECT 'product_values', product_id FROM changed;
  ELSIF TG_OP = 'DELETE' THEN
    WITH changed AS (INSERT INTO product_ratings AS kept (product_id, one_star, two_stars, three_stars, four_stars, five_stars)
    SELECT product_id, -count(*) FILTER (WHERE rating = 1), -count(*) FILTER (WHERE rating = 2),
      -count(*) FILTER (WHERE rating = 3), -count(*) FILTER (WHERE rating = 4), -count(*) FILTER (WHERE rating = 5)
    FROM removed WHERE EXISTS (SELECT 1 FROM products WHERE products.id = product_id) GROUP BY product_id ORDER BY product_id
    ON CONFLICT (product_id) DO UPDATE
    SET one_star = kept.one_star + excluded.one_star, two_stars = kept.two_stars + excluded.two_stars,
      three_stars = kept.three_stars + excluded.three_stars, four_stars = kept.four_stars + excluded.four_stars,
      five_stars = kept.five_stars + excluded.five_stars
    RETURNING product_id)
    INSERT INTO index_notes (part, id) SELECT 'product_values', product_id FROM changed;
  ELSE
    WITH changed AS (INSERT INTO product_ratings AS kept (product_id, one_star, two_stars, three_stars, four_stars, five_stars)
    SELECT * FROM (
      SELECT product_id, sum((rating = 1)::int * change) AS one, sum((rating = 2)::int * change) AS two,
        sum((rating = 3)::int * change) AS three, sum((rating = 4)::int * change) AS four,
        sum((rating = 5)::int * change) AS five
      FROM (
        SELECT product_id, rating, 1 AS change FROM added UNION ALL SELECT product_id, rating, -1 FROM removed
      ) AS changes
      WHERE EXISTS (SELECT 1 FROM products WHERE products.id = product_id) GROUP BY product_id
    ) AS sums WHERE (one, two, three, four, five) <> (0, 0, 0, 0, 0) ORDER BY product_id
    ON CONFLICT (product_id) DO UPDATE
    SET one_star = kept.one_star + excluded.one_star, two_stars = kept.two_stars + excluded.two_stars,
      three_stars = kept.three_stars + excluded.three_stars, four_stars = kept.four_stars + excluded.four_stars,
      five_stars = kept.five_stars + excluded.five_stars
    RETURNING product_id)
    INSERT INTO index_notes (part, id) SELECT 'product_values', product_id FROM changed;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER reviews_created_counted AFTER INSERT ON reviews
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_reviews();

CREATE TRIGGER reviews_updated_counted AFTER UPDATE ON reviews
REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_reviews();

CREATE TRIGGER reviews_deleted_counted AFTER DELETE ON reviews
REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_reviews();

CREATE FUNCTION forget_ratings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  WITH changed AS (DELETE FROM product_ratings RETURNING product_id)
  INSERT INTO index_notes (part, id) SELECT 'product_values', product_id FROM changed;
  RETURN NULL;
END $$;

CREATE TRIGGER reviews_truncated_counted AFTER TRUNCATE ON reviews
FOR EACH STATEMENT EXECUTE FUNCTION forget_ratings();

-- After the triggers, because creating them waits for the transactions that have changed reviews.
INSERT INTO product_ratings (product_id, one_star, two_stars, three_stars, four_stars, five_stars)
SELECT product_id, count(*) FILTER (WHERE rating = 1), count(*) FILTER (WHERE rating = 2),
  count(*) FILTER (WHERE rating = 3), count(*) FILTER (WHERE rating = 4), count(*) FILTER (WHERE rating = 5)
FROM reviews GROUP BY product_id;
