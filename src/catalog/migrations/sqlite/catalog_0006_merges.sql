-- By itself, FTS5 merges segments within the commits that add to them: mostly nothing, and then as much as 30 ms at once, in which
-- the service answers nobody. So it merges only when it is told to, a few pages with each slice (storage/sqlite/index-slices.ts).
INSERT INTO product_words (product_words, rank) VALUES ('automerge', 0);
INSERT INTO category_words (category_words, rank) VALUES ('automerge', 0);
INSERT INTO user_words (user_words, rank) VALUES ('automerge', 0);

-- It then merges eight segments of a size at a time, because with four, each row would be written again more often.
INSERT INTO product_words (product_words, rank) VALUES ('usermerge', 8);
INSERT INTO category_words (category_words, rank) VALUES ('usermerge', 8);
INSERT INTO user_words (user_words, rank) VALUES ('usermerge', 8);
