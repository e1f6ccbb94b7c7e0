import type { Parameter } from '../../database/sqlite/connection.ts'
import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import type { Listing } from '../lists/listing.ts'
import { chunkOf, sqliteListing } from '../lists/sqlite.ts'
import type { Resource } from '../operation.ts'
import { Remembered } from '../remembered.ts'
import type { Representation } from '../representation.ts'
import type { AbsentReference, ReviewRepository } from './repository.ts'
import type { Review, ReviewCreate } from './schema.ts'

interface ReviewRow {
  readonly id: number
  readonly product_id: number
  readonly user_id: number
  readonly rating: number
  readonly comment: string
  readonly user_name: string
  readonly avatar: string
  readonly product_name: string
  readonly description: string
  readonly price: number
}

const COLUMNS = `
  review.id, review.product_id, review.user_id, review.rating, review.comment,
  account.name AS user_name, account.avatar,
  product.name AS product_name, product.description, product.price`

/** CROSS JOIN keeps the reviews outermost, so that they come in order of id from their index. */
const OWNERS = `
  CROSS JOIN users AS account ON account.id = review.user_id
  CROSS JOIN products AS product ON product.id = review.product_id`

/** Which reviews a listing holds, and the index that has those in order of id. */
interface Scope<Key extends Parameter[]> {
  readonly index: string
  readonly condition: string
  readonly absentParent: (...key: Key) => Resource | null
}

export function sqliteReviews(database: SqliteDatabase): ReviewRepository {
  const remembered = new Remembered(database)
  const select = database.prepare<[id: number], ReviewRow>(
    `SELECT ${COLUMNS} FROM reviews AS review ${OWNERS} WHERE review.id = ?`,
  )
  const read = (id: number): Representation | null => {
    const row = select.get(id)
    return row && { json: JSON.stringify(reviewOf(row)), cutAfterId: null }
  }
  const selectProduct = database.prepare<[id: number], { id: number }>('SELECT id FROM products WHERE id = ?')
  const selectUser = database.prepare<[id: number], { id: number }>('SELECT id FROM users WHERE id = ?')
  const selectId = database.prepare<[id: number], { id: number }>('SELECT id FROM reviews WHERE id = ?')
  const insert = database.prepare<[productId: number, userId: number, rating: number, comment: string]>(
    'INSERT INTO reviews (product_id, user_id, rating, comment) VALUES (?, ?, ?, ?)',
  )
  const change = database.prepare<[productId: number, userId: number, rating: number, comment: string, id: number]>(
    'UPDATE reviews SET product_id = ?, user_id = ?, rating = ?, comment = ? WHERE id = ?',
  )
  const remove = database.prepare<[id: number]>('DELETE FROM reviews WHERE id = ?')

  const absentProduct = (id: number) => (selectProduct.get(id) ? null : 'Product')
  const absentUser = (id: number) => (selectUser.get(id) ? null : 'User')

  const absentReference = ({ product_id, user_id }: ReviewCreate): AbsentReference | null => {
    const absent = absentProduct(product_id) ?? absentUser(user_id)
    return absent && { absent }
  }

  const written = (id: number): Representation => {
    const review = read(id)
    if (!review) throw new Error(`review ${id} is gone within the transaction that wrote it`)
    return review
  }

  return {
    all: reviewListings(database, remembered, { index: 'reviews_by_id', condition: 'TRUE', absentParent: () => null }),
    ofProduct: reviewListings<[productId: number]>(database, remembered, {
      index: 'reviews_by_product',
      condition: 'product_id = ?',
      absentParent: absentProduct,
    }),
    ofUser: reviewListings<[userId: number]>(database, remembered, {
      index: 'reviews_by_user',
      condition: 'user_id = ?',
      absentParent: absentUser,
    }),
    ofProductAndUser: reviewListings<[productId: number, userId: number]>(database, remembered, {
      index: 'reviews_by_product_and_user',
      condition: 'product_id = ? AND user_id = ?',
      absentParent: (productId, userId) => absentProduct(productId) ?? absentUser(userId),
    }),
    find: async id =>
      database.recallOr(
        () => remembered.get(id),
        () => remembered.keep(id, read(id)),
      ),
    create: review =>
      database.write(() => {
        const absent = absentReference(review)
        if (absent) return absent
        const { lastInsertRowid } = insert.run(review.product_id, review.user_id, review.rating, review.comment)
        return written(Number(lastInsertRowid))
      }),
    update: (id, review) =>
      database.write(() => {
        if (!selectId.get(id)) return null
        const absent = absentReference(review)
        if (absent) return absent
        change.run(review.product_id, review.user_id, review.rating, review.comment, id)
        return written(id)
      }),
    delete: id =>
      database.write(() => {
        const found = read(id)
        remove.run(id)
        return found
      }),
  }
}

/** The statements of one kind of listing, prepared once; what comes back makes the listing of one key. */
function reviewListings<Key extends Parameter[]>(
  database: SqliteDatabase,
  remembered: Remembered,
  { index, condition, absentParent }: Scope<Key>,
): (...key: Key) => Listing {
  const selectRange = database.prepare<[...Key, afterId: number, untilId: number, limit: number], ReviewRow>(`
    WITH review AS NOT MATERIALIZED (SELECT * FROM reviews INDEXED BY ${index} WHERE ${condition})
    SELECT ${COLUMNS} FROM review ${OWNERS}
    WHERE review.id > ? AND review.id <= ? ORDER BY review.id LIMIT ?`)
  const selectIds = database.prepare<[...Key, afterId: number, limit: number, offset: number], { id: number }>(`
    SELECT id FROM reviews INDEXED BY ${index} WHERE ${condition} AND id > ? ORDER BY id LIMIT ? OFFSET ?`)
  const selectLastId = database.prepare<Key, { id: number | null }>(
    `SELECT max(id) AS id FROM reviews WHERE ${condition}`,
  )
  return (...key) =>
    sqliteListing(database, remembered, {
      ids: (afterId, limit, offset) => selectIds.all(...key, afterId, limit, offset),
      lastId: () => selectLastId.get(...key)?.id ?? null,
      chunk: (afterId, untilId, limit) => {
        const { items, more } = chunkOf(
          selectRange.iterate(...key, afterId, untilId, limit + 1),
          limit,
          row => row.comment.length + row.description.length + row.avatar.length,
        )
        return { items: items.map(row => ({ id: row.id, json: JSON.stringify(reviewOf(row)), whole: true })), more }
      },
      absentParent: () => absentParent(...key),
    })
}

function reviewOf(row: ReviewRow): Review {
  return {
    id: row.id,
    product_id: row.product_id,
    user_id: row.user_id,
    rating: row.rating,
    comment: row.comment,
    user: { id: row.user_id, name: row.user_name, avatar: row.avatar },
    product: { id: row.product_id, name: row.product_name, description: row.description, price: row.price },
  }
}
