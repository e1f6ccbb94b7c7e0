-- Has everything that facets count. Reading it from the rows took twice as long, because they also hold the words.
DROP INDEX product_facts_by_category;
CREATE INDEX product_facts_by_category ON product_facts (category_id, price, id) INCLUDE (average);
