-- Whoever creates rows of a collection locks its row here before drawing ids, until the commit. So ids become visible in
-- their order, and a client that pages by id misses none. The row itself never changes.

CREATE TABLE creation_locks (
  collection text PRIMARY KEY
);

INSERT INTO creation_locks (collection) VALUES ('categories'), ('products'), ('users'), ('reviews');
