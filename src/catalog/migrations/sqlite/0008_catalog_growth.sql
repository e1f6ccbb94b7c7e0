-- How many rows there are in each block of 16,384 ids, of the blocks that were counted (storage/sqlite-positions.ts).
-- No new row gets an id in a counted block, because ids only grow. A deleted row is subtracted by whoever deletes it.
CREATE TABLE counted_blocks (
  collection TEXT NOT NULL,
  block      INTEGER NOT NULL,
  items      INTEGER NOT NULL,
  PRIMARY KEY (collection, block)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER categories_counted AFTER DELETE ON categories BEGIN
  UPDATE counted_blocks SET items = items - 1 WHERE collection = 'categories' AND block = old.id >> 14;
  DELETE FROM counted_blocks WHERE collection = 'categories' AND block = old.id >> 14 AND items = 0;
END;

CREATE TRIGGER products_counted AFTER DELETE ON products BEGIN
  UPDATE counted_blocks SET items = items - 1 WHERE collection = 'products' AND block = old.id >> 14;
  DELETE FROM counted_blocks WHERE collection = 'products' AND block = old.id >> 14 AND items = 0;
END;

CREATE TRIGGER users_counted AFTER DELETE ON users BEGIN
  UPDATE counted_blocks SET items = items - 1 WHERE collection = 'users' AND block = old.id >> 14;
  DELETE FROM counted_blocks WHERE collection = 'users' AND block = old.id >> 14 AND items = 0;
END;

CREATE TRIGGER reviews_counted AFTER DELETE ON reviews BEGIN
  UPDATE counted_blocks SET items = items - 1 WHERE collection = 'reviews' AND block = old.id >> 14;
  DELETE FROM counted_blocks WHERE collection = 'reviews' AND block = old.id >> 14 AND items = 0;
END;
