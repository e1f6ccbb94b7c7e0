-- The reviews of a product or a user are written at different times, so they are on as many pages of their table, and reading
-- those takes longer than everything else. These indexes have all that a product or user shows of them. SQLite compares whole
-- records to find a place in an index, so long comments are left out. The expression is that of `indexedColumn`
-- (storage/sqlite-reader.ts), without octet_length, which tools older than SQLite 3.43 do not know.
DROP INDEX reviews_by_product;
CREATE INDEX reviews_by_product
  ON reviews (product_id, id, user_id, rating, iif(length(CAST(comment AS BLOB)) <= 300, comment, NULL));
DROP INDEX reviews_by_user;
CREATE INDEX reviews_by_user
  ON reviews (user_id, id, product_id, rating, iif(length(CAST(comment AS BLOB)) <= 300, comment, NULL));

-- The reviews of a product by a user are found in either of these. One index less pays for their width.
DROP INDEX reviews_by_product_and_user;
