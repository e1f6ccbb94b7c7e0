-- Another random number after each update of the row, for `If-Match`. Adding the column does not rewrite the table, but SQLite
-- checks each STRICT table once as a whole: a million rows take a second.
ALTER TABLE categories ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE products ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reviews ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;

-- For other programs, and for processes of an earlier version, which do not know the column. Only fields of the row itself
-- count, so a product whose category is deleted keeps its revision.
CREATE TRIGGER categories_revised AFTER UPDATE OF name, description ON categories
WHEN new.revision = old.revision BEGIN
  UPDATE categories SET revision = random() & 0xffffffffffff WHERE id = new.id;
END;

CREATE TRIGGER products_revised AFTER UPDATE OF name, price, description ON products
WHEN new.revision = old.revision BEGIN
  UPDATE products SET revision = random() & 0xffffffffffff WHERE id = new.id;
END;

CREATE TRIGGER users_revised AFTER UPDATE OF name, email, avatar, password_hash, is_active, is_admin, is_banned, is_blocked,
  is_deleted, is_suspended, is_verified ON users
WHEN new.revision = old.revision BEGIN
  UPDATE users SET revision = random() & 0xffffffffffff WHERE id = new.id;
END;

CREATE TRIGGER reviews_revised AFTER UPDATE OF product_id, user_id, rating, comment ON reviews
WHEN new.revision = old.revision BEGIN
  UPDATE reviews SET revision = random() & 0xffffffffffff WHERE id = new.id;
END;
