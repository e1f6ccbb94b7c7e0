-- This index has all that a product shows of its reviews. They are written at different times, so they are on as many different
-- pages of their table, and reading each of those took longer than everything else.
DROP INDEX reviews_by_product;
CREATE INDEX reviews_by_product ON reviews (product_id, id, user_id, rating, comment);
