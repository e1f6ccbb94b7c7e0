import { Batch } from '../../database/postgres/batch.ts'
import type { PostgresDatabase } from '../../database/postgres/database.ts'
import type { Parameter } from '../../database/postgres/pool.ts'
import { creatingReferring } from '../creates/postgres.ts'
import type { Reads } from '../embedded/postgres.ts'
import { CHUNK_MAX_CHARACTERS } from '../lists/listing.ts'
import { allOf, postgresListing } from '../lists/postgres.ts'
import type { Resource } from '../operation.ts'
import { Remembered } from '../remembered.ts'
import type { Representation } from '../representation.ts'
import type { AbsentReference, ReviewRepository } from './repository.ts'
import type { Review, ReviewCreate } from './schema.ts'

/** What a review shows of its user and its product. */
interface Referred {
  readonly user_name: string
  readonly avatar: string
  readonly product_name: string
  readonly description: string
  readonly price: number
}

interface Row extends ReviewCreate, Referred {
  readonly id: number
  /** In bytes, of this review and all before it. */
  readonly weight: number
  /** At which it was read. */
  readonly state: string | null
}

const REFERRED_COLUMNS = `
  account.name AS user_name, account.avatar, product.name AS product_name, product.description, product.price`

/** What a statement that changes a review finds: what it refers to; and what the review is then, unless it is gone. */
type Changed = { readonly product_there: boolean; readonly user_there: boolean } & (Row | { readonly id: null })

const REVIEW_COLUMNS = `
  review.id::float8 AS id, review.product_id::float8, review.user_id::float8, review.rating, review.comment, ${REFERRED_COLUMNS}`

/** The SQL of a review as a row, from a statement that has changed it. */
function shown(source: string): string {
  return `
    SELECT ${REVIEW_COLUMNS} FROM ${source} AS review
    JOIN users AS account ON account.id = review.user_id
    JOIN products AS product ON product.id = review.product_id`
}

/** What the review's body refers to, by $1 and $2. */
const REFERRED = `
  referred AS (
    SELECT (SELECT id FROM products WHERE id = $1::bigint) AS product_id, (SELECT id FROM users WHERE id = $2::bigint) AS user_id
  )`

/** No row when there is no such review. */
const UPDATE = `
  WITH ${REFERRED}, written AS (
    UPDATE reviews SET product_id = referred.product_id, user_id = referred.user_id, rating = $3::smallint, comment = $4::text
    FROM referred
    WHERE id = $5::bigint AND referred.product_id IS NOT NULL AND referred.user_id IS NOT NULL
    RETURNING reviews.*
  )
  SELECT referred.product_id IS NOT NULL AS product_there, referred.user_id IS NOT NULL AS user_there, answer.*
  FROM reviews AS review
  CROSS JOIN referred LEFT JOIN (${shown('written')}) AS answer ON TRUE
  WHERE review.id = $5::bigint`

/**
 * In a transaction: a statement sees what was there when it began. If it had to wait for one that moves the review to a new
 * product, it would not see that product, so it is only begun when the review is locked.
 */
const LOCK = 'SELECT id FROM reviews WHERE id = $1::bigint FOR UPDATE'
const DELETE = `WITH deleted AS (DELETE FROM reviews WHERE id = $1::bigint RETURNING *) ${shown('deleted')}`

export function postgresReviews(database: PostgresDatabase): ReviewRepository {
  const { find, ...reads } = reviewReads(database)
  const insert = creatingReferring<ReviewCreate, Referred>(database, 'reviews', {
    references: { product_id: 'products', user_id: 'users' },
    answer: {
      columns: REFERRED_COLUMNS,
      joins: `
        LEFT JOIN held_users AS account ON account.id = numbered.user_id
        LEFT JOIN held_products AS product ON product.id = numbered.product_id`,
    },
  })
  const absent = async (table: 'products' | 'users', resource: Resource, id: number): Promise<Resource | null> => {
    const found = await database.read(`SELECT id FROM ${table} WHERE id = $1::bigint`, id)
    return found.length > 0 ? null : resource
  }
  const absentProduct = (id: number) => absent('products', 'Product', id)
  const absentUser = (id: number) => absent('users', 'User', id)

  return {
    all: () => postgresListing(database, reads, allOf('reviews')),
    ofProduct: productId =>
      postgresListing(database, reads, {
        table: 'reviews',
        condition: 'product_id = $5::bigint',
        parameters: [productId],
        absentParent: () => absentProduct(productId),
      }),
    ofUser: userId =>
      postgresListing(database, reads, {
        table: 'reviews',
        condition: 'user_id = $5::bigint',
        parameters: [userId],
        absentParent: () => absentUser(userId),
      }),
    ofProductAndUser: (productId, userId) =>
      postgresListing(database, reads, {
        table: 'reviews',
        condition: 'product_id = $5::bigint AND user_id = $6::bigint',
        parameters: [productId, userId],
        absentParent: async () => (await absentProduct(productId)) ?? (await absentUser(userId)),
      }),
    find,
    create: async ({ product_id, user_id, rating, comment }) => {
      const review = { product_id, user_id, rating, comment }
      const created = await insert(review)
      if ('absent' in created) return { absent: created.absent === 'product_id' ? 'Product' : 'User' }
      return representationOf({ ...review, ...created })
    },
    update: async (id, { product_id, user_id, rating, comment }) => {
      const [changed] = await database.write<Changed>(UPDATE, product_id, user_id, rating, comment, id)
      return changed ? answerOf(changed) : null
    },
    delete: async id => {
      const [deleted] = await database.transaction(async ask => {
        const found = await ask(LOCK, id)
        return found.length > 0 ? ask<Row>(DELETE, id) : []
      })
      return deleted ? representationOf(deleted) : null
    },
  }
}

/** `null` when the review was deleted while it was to be changed. */
function answerOf(changed: Changed): Representation | AbsentReference | null {
  if (!changed.product_there) return { absent: 'Product' }
  if (!changed.user_there) return { absent: 'User' }
  return changed.id === null ? null : representationOf(changed)
}

function reviewReads(database: PostgresDatabase): Reads {
  const remembered = new Remembered(database.changes)
  const weight = 'octet_length(review.comment) + octet_length(account.avatar) + octet_length(product.description)'

  /** All reviews of `source`, or those of them that come before what is too heavy. */
  const read = async (source: string, parameters: Parameter[]) => {
    const rows = await database.read<Row>(
      `SELECT *, ${database.changes.state} AS state FROM (
        SELECT ${REVIEW_COLUMNS}, ${weight} AS own_weight, review.id AS place,
          (sum(${weight}) OVER (ORDER BY review.id ROWS UNBOUNDED PRECEDING))::float8 AS weight
        FROM (${source}) AS review
        JOIN users AS account ON account.id = review.user_id
        JOIN products AS product ON product.id = review.product_id
      ) AS weighed WHERE weight - own_weight <= ${CHUNK_MAX_CHARACTERS} ORDER BY place`,
      ...parameters,
    )
    const isCut = (rows.at(-1)?.weight ?? 0) > CHUNK_MAX_CHARACTERS
    const found = rows.map(row => ({ id: row.id, ...representationOf(row) }))
    if (database.changes.saw(rows[0]?.state ?? null)) for (const review of found) remembered.keep(review.id, review)
    return { found, isCut }
  }

  const readOne = async (id: number) =>
    (await read('SELECT * FROM reviews WHERE id = $1::bigint', [id])).found[0] ?? null

  const batch = new Batch<number, Representation | 'too heavy' | null>(async ids => {
    const source = 'SELECT * FROM reviews WHERE id = ANY ($1::text::bigint[])'
    const { found, isCut } = await read(source, [`{${[...new Set(ids)].join(',')}}`])
    const byId = new Map(found.map(review => [review.id, review]))
    return ids.map(id => byId.get(id) ?? (isCut ? 'too heavy' : null))
  })

  return {
    find: async id => {
      const recalled = remembered.get(id) && (await database.changes.recall(() => remembered.get(id)))
      const found = recalled ?? (await batch.add(id))
      return found === 'too heavy' ? readOne(id) : found
    },
    remembered,
    readChunk: async (source, parameters, limit) => {
      const { found, isCut } = await read(source, parameters)
      return { items: found.slice(0, limit), more: isCut || found.length > limit }
    },
  }
}

type Shown = ReviewCreate & Referred & { readonly id: number }

function representationOf(row: Shown): Representation {
  return { json: JSON.stringify(reviewOf(row)), cutAfterId: null }
}

function reviewOf(row: Shown): Review {
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
