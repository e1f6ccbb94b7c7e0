/** The SQL of every peer: the same, so that the bench compares frameworks and drivers, not queries. */

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

/** A review with the fields of its user that it shows. */
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

export interface UserRow {
  id: number
  name: string
  avatar: string
}

export interface CategoryRow {
  id: number
  name: string
  description: string
}

/** A product with the category that it is in. */
export interface CategorizedProductRow extends ProductRow {
  category_id: number
}

export interface Category extends CategoryRow {
  products: ProductRow[]
}

export interface ReviewCreate {
  product_id: number
  user_id: number
  rating: number
  comment: string
}

export const EMBEDDED_MAX = 100
export const LIMIT_DEFAULT = 100

/** `busy_timeout` comes first, so that the other statements wait for locks. */
export const PRAGMAS = [
  'PRAGMA busy_timeout = 10000',
  'PRAGMA journal_mode = WAL',
  'PRAGMA synchronous = FULL',
  'PRAGMA foreign_keys = ON',
  'PRAGMA temp_store = MEMORY',
  // 64 MiB: the whole seeded database fits.
  'PRAGMA cache_size = -65536',
]

export const SELECT_PRODUCT = 'SELECT id, name, description, price FROM products WHERE id = ?'

/**
 * A whole product as JSON text from SQLite: one statement and one string instead of two statements and an object per row.
 * That was a quarter to a half faster with each driver, but slower for lists. `json(…)`, because not every build remembers
 * that the result of a subquery is JSON.
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
 * Parameters: first and last id of a page of products. The page has every product in between, so all reviews are in one
 * range of one index. That was faster with each driver than `IN (…)`, a window function or a join.
 */
export const SELECT_REVIEWS_OF_PAGE = `
  SELECT id, product_id, user_id, rating, comment FROM reviews
  WHERE product_id BETWEEN ? AND ? ORDER BY product_id, id`

/** Parameters: product, limit, skip. */
export const SELECT_REVIEWS_WITH_USERS = `
  SELECT reviews.id, user_id, rating, comment, users.name AS user_name, users.avatar AS user_avatar
  FROM reviews JOIN users ON users.id = user_id
  WHERE product_id = ? ORDER BY reviews.id LIMIT ? OFFSET ?`

/** A whole review as JSON text from SQLite. */
export const SELECT_REVIEW_AS_JSON = `
  SELECT json_object(
    'id', review.id, 'product_id', product_id, 'user_id', user_id, 'rating', rating, 'comment', comment,
    'user', json_object('id', user.id, 'name', user.name, 'avatar', user.avatar),
    'product', json_object(
      'id', product.id, 'name', product.name, 'description', product.description, 'price', product.price)) AS json
  FROM reviews AS review JOIN users AS user ON user.id = user_id JOIN products AS product ON product.id = product_id
  WHERE review.id = ?`

/** A whole category as JSON text from SQLite. */
export const SELECT_CATEGORY_AS_JSON = `
  SELECT json_object(
    'id', category.id, 'name', category.name, 'description', category.description,
    'products', json((
      SELECT json_group_array(json_object('id', id, 'name', name, 'description', description, 'price', price))
      FROM (SELECT * FROM products WHERE category_id = category.id ORDER BY id LIMIT ${EMBEDDED_MAX})
    ))) AS json
  FROM categories AS category WHERE id = ?`

/** Parameters: skip, limit. */
export const SELECT_CATEGORIES = `
  SELECT id, name, description FROM categories
  WHERE id >= (SELECT id FROM categories ORDER BY id LIMIT 1 OFFSET ?)
  ORDER BY id LIMIT ?`

/** Parameters: first and last id of a page of categories. Not `BETWEEN`, so that SQLite sees that the partial index applies. */
export const SELECT_PRODUCTS_OF_PAGE = `
  SELECT id, category_id, name, description, price FROM products
  WHERE category_id >= ? AND category_id <= ? ORDER BY category_id, id`

export const SELECT_USER = 'SELECT id, name, avatar FROM users WHERE id = ?'

/** Parameters: product, user, rating, comment. */
export const INSERT_REVIEW = 'INSERT INTO reviews (product_id, user_id, rating, comment) VALUES (?, ?, ?, ?)'

/** Parameters: name, description, price. */
export const INSERT_PRODUCT = 'INSERT INTO products (name, description, price) VALUES (?, ?, ?)'

/** Parameters: name, description, price, id. */
export const UPDATE_PRODUCT = 'UPDATE products SET name = ?, description = ?, price = ? WHERE id = ?'

/** Adds the reviews of a page to its products; both are ordered by product id. */
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

/** Adds the products of a page to its categories; both are ordered by category id. */
export function embedProducts(categories: CategoryRow[], products: CategorizedProductRow[]): Category[] {
  let next = 0
  return categories.map(({ id, name, description }) => {
    const category: Category = { id, name, description, products: [] }
    for (let product = products[next]; product?.category_id === id; product = products[++next]) {
      if (category.products.length === EMBEDDED_MAX) continue
      const { id, name, description, price } = product
      category.products.push({ id, name, description, price })
    }
    return category
  })
}

export function createdReview(id: number, created: ReviewCreate, user: UserRow, product: ProductRow): Review {
  const { product_id, user_id, rating, comment } = created
  return { id, product_id, user_id, rating, comment, user, product }
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
