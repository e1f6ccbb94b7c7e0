-- FTS5 keeps the ids of changed items in hash tables of one page each, with linear probing. If thousands of items whose ids follow
-- each other have changed, their ids fill one stretch of each table, and a merge walks over half of it for every id that it
-- reads: for a second and more, within a commit. In smaller pages, these stretches are short.
INSERT INTO product_words (product_words, rank) VALUES ('pgsz', 1000);
INSERT INTO category_words (category_words, rank) VALUES ('pgsz', 1000);
INSERT INTO user_words (user_words, rank) VALUES ('pgsz', 1000);
