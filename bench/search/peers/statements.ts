/** The SQL of the peer: what somebody writes who has read the documentation of SQLite and of FTS5 with care. */

export const PRAGMAS = [
  'PRAGMA journal_mode = WAL',
  'PRAGMA synchronous = FULL',
  'PRAGMA foreign_keys = ON',
  'PRAGMA cache_size = -262144',
  'PRAGMA mmap_size = 8589934592',
]

/** The tables, before they are filled. */
export const TABLES = `
  CREATE TABLE categories (id INTEGER PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL) STRICT;
  CREATE TABLE products (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    price REAL NOT NULL,
    category_id INTEGER REFERENCES categories (id),
    stars INTEGER NOT NULL DEFAULT 0,
    reviews INTEGER NOT NULL DEFAULT 0,
    score REAL NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE reviews (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    product_id INTEGER NOT NULL REFERENCES products (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL,
    rating INTEGER NOT NULL,
    comment TEXT NOT NULL
  ) STRICT;`

/** Made after the rows, because that is faster. */
export const INDEXES = `
  CREATE INDEX reviews_product ON reviews (product_id, id);
  UPDATE products SET (stars, reviews) = (given.stars, given.reviews)
    FROM (SELECT product_id, sum(rating) AS stars, count(*) AS reviews FROM reviews GROUP BY product_id) AS given
    WHERE given.product_id = id;
  UPDATE products SET score = (stars + 15.0) / (reviews + 5) WHERE reviews > 0;
  CREATE INDEX products_price ON products (price, id);
  CREATE INDEX products_name ON products (name COLLATE NOCASE, id);
  CREATE INDEX products_score ON products (score, id);
  CREATE INDEX products_reviews ON products (reviews, id);
  CREATE INDEX products_category ON products (category_id, id);
  CREATE INDEX products_category_price ON products (category_id, price, id);
  CREATE VIRTUAL TABLE products_search USING fts5(
    name, description, content = 'products', content_rowid = 'id', prefix = '1 2 3');
  INSERT INTO products_search (products_search) VALUES ('rebuild');
  CREATE TRIGGER products_search_insert AFTER INSERT ON products BEGIN
    INSERT INTO products_search (rowid, name, description) VALUES (new.id, new.name, new.description);
  END;
  CREATE TRIGGER products_search_delete AFTER DELETE ON products BEGIN
    INSERT INTO products_search (products_search, rowid, name, description)
    VALUES ('delete', old.id, old.name, old.description);
  END;
  CREATE TRIGGER products_search_update AFTER UPDATE OF name, description ON products BEGIN
    INSERT INTO products_search (products_search, rowid, name, description)
    VALUES ('delete', old.id, old.name, old.description);
    INSERT INTO products_search (rowid, name, description) VALUES (new.id, new.name, new.description);
  END;
  CREATE TRIGGER reviews_insert AFTER INSERT ON reviews BEGIN
    UPDATE products SET stars = stars + new.rating, reviews = reviews + 1,
      score = (stars + new.rating + 15.0) / (reviews + 6) WHERE id = new.product_id;
  END;
  ANALYZE;`

/** Parameter: ids as a JSON array. */
export const SELECT_REVIEWS = `
  SELECT id, product_id, user_id, rating, comment FROM reviews
  WHERE product_id IN (SELECT value FROM json_each(?)) ORDER BY product_id, id`

export const INSERT_PRODUCT = 'INSERT INTO products (name, description, price) VALUES (?, ?, ?)'

export const SORTS = {
  id: 'products.id',
  name: 'products.name COLLATE NOCASE',
  price: 'products.price',
  rating: 'products.score',
  reviews: 'products.reviews',
} as const

export type SortKey = keyof typeof SORTS

export interface Filters {
  readonly q?: string
  readonly category_id?: readonly number[]
  readonly min_price?: number
  readonly max_price?: number
  readonly below_price?: number
  readonly min_rating?: number
}

/** The condition of a statement, with its parameters. */
export interface Condition {
  readonly sql: string
  readonly parameters: readonly (string | number)[]
}

/** The condition of all filters, or of those without the named ones. */
export function conditionOf(filters: Filters, without: readonly (keyof Filters)[] = []): Condition {
  const parts: string[] = []
  const parameters: (string | number)[] = []
  const add = (sql: string, ...values: (string | number)[]) => {
    parts.push(sql)
    parameters.push(...values)
  }
  const given = <Name extends keyof Filters>(name: Name) => (without.includes(name) ? undefined : filters[name])
  const match = matchOf(given('q') ?? '')
  if (match !== '') add('products.id IN (SELECT rowid FROM products_search WHERE products_search MATCH ?)', match)
  const [categories, least, most, below, rating] = [
    given('category_id'),
    given('min_price'),
    given('max_price'),
    given('below_price'),
    given('min_rating'),
  ]
  if (categories?.length === 1) add('products.category_id = ?', categories[0] ?? 0)
  else if (categories) add(`products.category_id IN (${categories.map(() => '?').join(',')})`, ...categories)
  if (least !== undefined) add('products.price >= ?', least)
  if (most !== undefined) add('products.price <= ?', most)
  if (below !== undefined) add('products.price < ?', below)
  if (rating !== undefined) add('products.reviews > 0 AND products.stars * 1.0 / products.reviews >= ?', rating)
  return { sql: parts.length > 0 ? parts.join(' AND ') : 'TRUE', parameters }
}

/** The words of a query for FTS5, quoted; the last is a prefix unless a separator follows it. */
export function matchOf(query: string): string {
  const words = query.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  const prefix = /[\p{L}\p{N}\p{M}]$/u.test(query) ? '*' : ''
  return words.map((word, place) => `"${word}"${place === words.length - 1 ? prefix : ''}`).join(' ')
}
