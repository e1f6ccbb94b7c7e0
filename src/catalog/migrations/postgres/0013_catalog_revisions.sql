-- Another random number after each update of the row, for `If-Match`. Adding the column does not rewrite the table.
ALTER TABLE categories ADD COLUMN revision bigint NOT NULL DEFAULT 0;
ALTER TABLE products ADD COLUMN revision bigint NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN revision bigint NOT NULL DEFAULT 0;
ALTER TABLE reviews ADD COLUMN revision bigint NOT NULL DEFAULT 0;

-- For other programs, and for nodes of an earlier version, which do not know the column. Only fields of the row itself count,
-- so a product whose category is deleted keeps its revision.
CREATE FUNCTION revise() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  new.revision = floor(random() * 281474976710656);
  RETURN new;
END $$;

CREATE TRIGGER categories_revised BEFORE UPDATE OF name, description ON categories
FOR EACH ROW WHEN (new.revision = old.revision) EXECUTE FUNCTION revise();

CREATE TRIGGER products_revised BEFORE UPDATE OF name, price, description ON products
FOR EACH ROW WHEN (new.revision = old.revision) EXECUTE FUNCTION revise();

CREATE TRIGGER users_revised BEFORE UPDATE OF name, email, avatar, password_hash, is_active, is_admin, is_banned, is_blocked,
  is_deleted, is_suspended, is_verified ON users
FOR EACH ROW WHEN (new.revision = old.revision) EXECUTE FUNCTION revise();

CREATE TRIGGER reviews_revised BEFORE UPDATE OF product_id, user_id, rating, comment ON reviews
FOR EACH ROW WHEN (new.revision = old.revision) EXECUTE FUNCTION revise();
