/** What every peer asks of the database: the same SQL, so that frameworks and drivers are compared, not queries. */

export interface ProductRow {
  id: number
  name: string
  description: string
  price: number
}

export interface ReviewRow {
  id: number
  product_id: number
  user_id: number
  rating: number
  comment: string
}

/** A review with the fields of its user that a review shows. */
export interface ReviewWithUserRow {
  id: number
  user_id: number
  rating: number
  comment: string
  user_name: string
  user_avatar: string
}

export interface Product extends ProductRow {
  reviews: ReviewRow[]
}

export interface Review extends ReviewRow {
  user: { id: number; name: string; avatar: string }
  product: ProductRow
}

export const EMBEDDED_MAX = 100
export const LIMIT_DEFAULT = 100

/** `busy_timeout` first, so that a lock met while the others are set is waited for. */
export const PRAGMAS = [
  'PRAGMA busy_timeout = 10000',
  'PRAGMA journal_mode = WAL',
  'PRAGMA synchronous = FULL',
  'PRAGMA foreign_keys = ON',
  'PRAGMA temp_store = MEMORY',
  // 64 MiB: the whole of the seeded database stays in memory.
  'PRAGMA cache_size = -65536',
]

export const SELECT_PRODUCT = 'SELECT id, name, description, price FROM products WHERE id = ?'

/**
 * A whole product as JSON text, made by SQLite: one statement and one string instead of two statements and an object
 * for each row. With each driver that was a quarter to a half faster. (For lists it was slower than rows.)
 * `json(…)`, because not every build keeps a subquery's result known as JSON.
 */
export const SELECT_PRODUCT_AS_JSON = `
  SELECT json_object(
    'id', product.id, 'name', product.name, 'description', product.description, 'price', product.price,
    'reviews', json((
      SELECT json_group_array(json_object(
        'id', id, 'product_id', product_id, 'user_id', user_id, 'rating', rating, 'comment', comment))
      FROM (SELECT * FROM reviews WHERE product_id = product.id ORDER BY id LIMIT ${EMBEDDED_MAX})
    ))) AS json
  FROM products AS product WHERE id = ?`

/** Parameters: skip, limit. The subquery walks a narrow index past the skipped rows. */
export const SELECT_PRODUCTS = `
  SELECT id, name, description, price FROM products
  WHERE id >= (SELECT id FROM products ORDER BY id LIMIT 1 OFFSET ?)
  ORDER BY id LIMIT ?`

/**
 * Parameters: first and last id of a page of products. Such a page has every product between the two, so one range of
 * one index holds all its reviews. That was faster than `IN (…)`, a window or a join by product, on each driver.
 */
export const SELECT_REVIEWS_OF_PAGE = `
  SELECT id, product_id, user_id, rating, comment FROM reviews
  WHERE product_id BETWEEN ? AND ? ORDER BY product_id, id`

/** Parameters: product, limit, skip. */
export const SELECT_REVIEWS_WITH_USERS = `
  SELECT reviews.id, user_id, rating, comment, users.name AS user_name, users.avatar AS user_avatar
  FROM reviews JOIN users ON users.id = user_id
  WHERE product_id = ? ORDER BY reviews.id LIMIT ? OFFSET ?`

/** Parameters: name, description, price. */
export const INSERT_PRODUCT = 'INSERT INTO products (name, description, price) VALUES (?, ?, ?)'

/** Parameters: name, description, price, id. */
export const UPDATE_PRODUCT = 'UPDATE products SET name = ?, description = ?, price = ? WHERE id = ?'

/** Puts the reviews of a page under its products; both come in order of the product's id. */
export function embedReviews(products: ProductRow[], reviews: ReviewRow[]): Product[] {
  let next = 0
  return products.map(({ id, name, description, price }) => {
    const product: Product = { id, name, description, price, reviews: [] }
    for (let review = reviews[next]; review?.product_id === id; review = reviews[++next]) {
      if (product.reviews.length < EMBEDDED_MAX) product.reviews.push(review)
    }
    return product
  })
}

export function embedUserAndProduct(reviews: ReviewWithUserRow[], product: ProductRow): Review[] {
  return reviews.map(review => ({
    id: review.id,
    product_id: product.id,
    user_id: review.user_id,
    rating: review.rating,
    comment: review.comment,
    user: { id: review.user_id, name: review.user_name, avatar: review.user_avatar },
    product,
  }))
}
