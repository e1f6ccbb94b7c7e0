-- How many reviews of one to five stars each product has. A product that never had a review has no row. Counts, because they can
-- be taken back exactly, which a mean cannot. Triggers keep them, so they also see cascades, imports and other programs.
--
-- SQLite fires no trigger for the row that REPLACE removes, so other programs must change a review by UPDATE or by
-- ON CONFLICT DO UPDATE, not by INSERT OR REPLACE.

CREATE TABLE product_ratings (
  product_id  INTEGER PRIMARY KEY REFERENCES products (id) ON DELETE CASCADE,
  one_star    INTEGER NOT NULL,
  two_stars   INTEGER NOT NULL,
  three_stars INTEGER NOT NULL,
  four_stars  INTEGER NOT NULL,
  five_stars  INTEGER NOT NULL
) STRICT;

INSERT INTO product_ratings (product_id, one_star, two_stars, three_stars, four_stars, five_stars)
SELECT product_id, sum(rating = 1), sum(rating = 2), sum(rating = 3), sum(rating = 4), sum(rating = 5)
FROM reviews GROUP BY product_id;

CREATE TRIGGER reviews_created_counted AFTER INSERT ON reviews BEGIN
  INSERT INTO product_ratings (product_id, one_star, two_stars, three_stars, four_stars, five_stars)
  VALUES (new.product_id, new.rating = 1, new.rating = 2, new.rating = 3, new.rating = 4, new.rating = 5)
  ON CONFLICT (product_id) DO UPDATE
  SET one_star = one_star + excluded.one_star, two_stars = two_stars + excluded.two_stars,
    three_stars = three_stars + excluded.three_stars, four_stars = four_stars + excluded.four_stars,
    five_stars = five_stars + excluded.five_stars;
END;

-- If the product is being deleted, its row may be gone already.
CREATE TRIGGER reviews_deleted_counted AFTER DELETE ON reviews BEGIN
  UPDATE product_ratings
  SET one_star = one_star - (old.rating = 1), two_stars = two_stars - (old.rating = 2),
    three_stars = three_stars - (old.rating = 3), four_stars = four_stars - (old.rating = 4),
    five_stars = five_stars - (old.rating = 5)
  WHERE product_id = old.product_id;
END;

CREATE TRIGGER reviews_updated_counted AFTER UPDATE OF product_id, rating ON reviews
WHEN new.product_id <> old.product_id OR new.rating <> old.rating BEGIN
  UPDATE product_ratings
  SET one_star = one_star - (old.rating = 1), two_stars = two_stars - (old.rating = 2),
    three_stars = three_stars - (old.rating = 3), four_stars = four_stars - (old.rating = 4),
    five_stars = five_stars - (old.rating = 5)
  WHERE product_id = old.product_id;
  INSERT INTO product_ratings (product_id, one_star, two_stars, three_stars, four_stars, five_stars)
  VALUES (new.product_id, new.rating = 1, new.rating = 2, new.rating = 3, new.rating = 4, new.rating = 5)
  ON CONFLICT (product_id) DO UPDATE
  SET one_star = one_star + excluded.one_star, two_stars = two_stars + excluded.two_stars,
    three_stars = three_stars + excluded.three_stars, four_stars = four_stars + excluded.four_stars,
    five_stars = five_stars + excluded.five_stars;
END;
