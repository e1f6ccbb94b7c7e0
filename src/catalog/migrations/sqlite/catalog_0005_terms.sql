-- The distinct words of the index, in order. These tables have no rows of their own.
CREATE VIRTUAL TABLE product_words_terms USING fts5vocab ('product_words', 'instance');
CREATE VIRTUAL TABLE category_words_terms USING fts5vocab ('category_words', 'instance');
CREATE VIRTUAL TABLE user_words_terms USING fts5vocab ('user_words', 'instance');
