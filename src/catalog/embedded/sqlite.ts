import type { Prepared, SqliteDatabase } from '../../database/sqlite.ts'
import { EMBEDDED_MAX, type EmbeddedProduct, type EmbeddedReview } from './schema.ts'

/** What the resources show of each other, in SQLite: the first items by id of one parent, or of each of several. */
export interface EmbeddedStatements {
  /** One more than fits, which tells whether the array was cut. */
  readonly reviewsOfProduct: Prepared<[productId: number], EmbeddedReview>
  readonly reviewsOfUser: Prepared<[userId: number], EmbeddedReview>
  readonly productsOfCategory: Prepared<[categoryId: number], EmbeddedProduct>
  /** Of all parents whose ids are from the first to the last, in order of the parents' ids. */
  readonly reviewsOfProducts: Prepared<[firstId: number, lastId: number], EmbeddedReview>
  readonly reviewsOfProductsIn: Prepared<[firstId: number, lastId: number, categoryId: number], EmbeddedReview>
  readonly reviewsOfUsers: Prepared<[firstId: number, lastId: number], EmbeddedReview>
  readonly productsOfCategories: Prepared<
    [firstId: number, lastId: number],
    EmbeddedProduct & { readonly category_id: number }
  >
}

const REVIEW = 'review.id, review.product_id, review.user_id, review.rating, review.comment'
const PRODUCT = 'product.id, product.name, product.description, product.price'
const ID_MAX = '9223372036854775807'

export function embeddedStatements(database: SqliteDatabase): EmbeddedStatements {
  return {
    reviewsOfProduct: database.prepare(`
      SELECT ${REVIEW} FROM reviews AS review INDEXED BY reviews_by_product
      WHERE review.product_id = ? ORDER BY review.id LIMIT ${EMBEDDED_MAX + 1}`),
    reviewsOfUser: database.prepare(`
      SELECT ${REVIEW} FROM reviews AS review INDEXED BY reviews_by_user
      WHERE review.user_id = ? ORDER BY review.id LIMIT ${EMBEDDED_MAX + 1}`),
    productsOfCategory: database.prepare(`
      SELECT ${PRODUCT} FROM products AS product INDEXED BY products_by_category
      WHERE product.category_id = ? ORDER BY product.id LIMIT ${EMBEDDED_MAX + 1}`),
    reviewsOfProducts: database.prepare(reviewsOfProducts('')),
    reviewsOfProductsIn: database.prepare(reviewsOfProducts('AND product.category_id = ?')),
    // The subquery finds the last id that fits, so that of a million reviews no more than that is read.
    reviewsOfUsers: database.prepare(`
      SELECT ${REVIEW}
      FROM users AS account CROSS JOIN reviews AS review INDEXED BY reviews_by_user
      WHERE account.id BETWEEN ? AND ? AND review.user_id = account.id
        AND review.id <= coalesce(
          (SELECT id FROM reviews WHERE user_id = account.id ORDER BY id LIMIT 1 OFFSET ${EMBEDDED_MAX - 1}), ${ID_MAX})
      ORDER BY account.id, review.id`),
    productsOfCategories: database.prepare(`
      SELECT ${PRODUCT}, product.category_id
      FROM categories AS category CROSS JOIN products AS product INDEXED BY products_by_category
      WHERE category.id BETWEEN ? AND ? AND product.category_id = category.id
        AND product.id <= coalesce(
          (SELECT id FROM products WHERE category_id = category.id ORDER BY id LIMIT 1 OFFSET ${EMBEDDED_MAX - 1}),
          ${ID_MAX})
      ORDER BY category.id, product.id`),
  }
}

function reviewsOfProducts(condition: '' | 'AND product.category_id = ?'): string {
  return `
    SELECT ${REVIEW}
    FROM products AS product CROSS JOIN reviews AS review INDEXED BY reviews_by_product
    WHERE product.id BETWEEN ? AND ? ${condition} AND review.product_id = product.id
      AND review.id <= coalesce(
        (SELECT id FROM reviews WHERE product_id = product.id ORDER BY id LIMIT 1 OFFSET ${EMBEDDED_MAX - 1}), ${ID_MAX})
    ORDER BY product.id, review.id`
}

/** Cuts what one more row than fits was read of. */
export function cutEmbedded<Row>(rows: Row[]): { rows: Row[]; cut: boolean } {
  return { rows: rows.slice(0, EMBEDDED_MAX), cut: rows.length > EMBEDDED_MAX }
}
