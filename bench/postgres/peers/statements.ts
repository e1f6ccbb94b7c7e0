/** The peers' SQL. Each peer uses the statements that were fastest with its driver. */
import { EMBEDDED_MAX, type Product } from '../../catalog/peers/statements.ts'

/** A whole product as JSON text from the database: one row instead of one per review. Parameter: id. */
export const SELECT_PRODUCT_AS_JSON = `
  SELECT row_to_json(shown)::text AS json FROM (
    SELECT id, name, description, price, (
      SELECT coalesce(json_agg(review), '[]')
      FROM (
        SELECT id, product_id, user_id, rating, comment FROM reviews
        WHERE product_id = products.id ORDER BY id LIMIT ${EMBEDDED_MAX}
      ) AS review
    ) AS reviews
    FROM products WHERE id = $1
  ) AS shown`

/** A product if `id` is null, else a review with its comment in `text`. */
export interface PageRow {
  product_id: number
  id: number | null
  user_id: number
  rating: number
  text: string
  description: string
  price: number
}

/**
 * A page of products, then all their reviews, in one statement that reads each table once. For a page, that was cheaper than
 * JSON from the database, a lateral join, or two concurrent statements. Parameters: skip, limit.
 */
export const SELECT_PAGE = `
  WITH page AS MATERIALIZED (
    SELECT id, name, description, price FROM products
    WHERE id >= (SELECT id FROM products ORDER BY id LIMIT 1 OFFSET $1) ORDER BY id LIMIT $2
  )
  SELECT
    id AS product_id, NULL::bigint AS id, NULL::bigint AS user_id, NULL::smallint AS rating, name AS text,
    description, price
  FROM page
  UNION ALL
  SELECT * FROM (
    SELECT product_id, id, user_id, rating, comment, NULL, NULL::double precision FROM reviews
    WHERE product_id = ANY (ARRAY(SELECT id FROM page)) ORDER BY product_id, reviews.id
  ) AS review`

/** Parameters: name, description, price. */
export const INSERT_PRODUCT = 'INSERT INTO products (name, description, price) VALUES ($1, $2, $3) RETURNING id'

export function productsOf(rows: readonly PageRow[]): Product[] {
  const products = new Map<number, Product>()
  for (const { product_id, id, user_id, rating, text, description, price } of rows) {
    if (id === null) {
      products.set(product_id, { id: product_id, name: text, description, price, reviews: [] })
      continue
    }
    const reviews = products.get(product_id)?.reviews
    if (reviews && reviews.length < EMBEDDED_MAX) reviews.push({ id, product_id, user_id, rating, comment: text })
  }
  return [...products.values()]
}
