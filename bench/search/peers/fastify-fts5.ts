/** Fastify on Node, with better-sqlite3, and SQLite's own FTS5 used as its documentation shows. */
import Database from 'better-sqlite3'
import Fastify from 'fastify'
import type { ProductCreate } from '../../catalog/peers/fastify-schemas.ts'
import type { ReviewRow } from '../../catalog/peers/statements.ts'
import {
  type Condition,
  conditionOf,
  type Filters,
  INSERT_PRODUCT,
  matchOf,
  PRAGMAS,
  SELECT_REVIEWS,
  SORTS,
  type SortKey,
} from './statements.ts'

/** Ranked by bm25, or in the order of ids, which needs no score of each match. */
const RANKED = process.env.RANKED !== 'off'

const LIMIT_DEFAULT = 20
const LIMIT_MAX = 1_000

interface ProductRow {
  id: number
  name: string
  description: string
  price: number
  category_id: number | null
  stars: number
  review_count: number
  score: number
}

interface ListQuery {
  q?: string
  category_id?: string
  min_price?: number
  max_price?: number
  below_price?: number
  min_rating?: number
  sort?: string
  cursor?: string
  count?: number
  fields?: string
  skip: number
  limit: number
}

interface FacetsQuery extends Omit<ListQuery, 'sort' | 'cursor' | 'count' | 'fields' | 'skip' | 'limit'> {
  price_bands?: string
}

/** The start of a page: after the item with this key and id, or after a number of items. */
type Cursor = { key: string | number; id: number } | { skipped: number }

const database = new Database(process.env.DATABASE ?? '')
for (const pragma of PRAGMAS) database.exec(pragma)

/** Statements by their text: there are as many as combinations of filters that somebody asks for. */
const statements = new Map<string, Database.Statement>()
const insertProduct = database.prepare(INSERT_PRODUCT)
const insertProducts = database.transaction((products: readonly ProductCreate[]) =>
  products.map(({ name, description, price }) => insertProduct.run(name, description, price).lastInsertRowid),
)

const number = { type: 'number', minimum: 0 }
const filters = {
  q: { type: 'string', maxLength: 200 },
  category_id: { type: 'string', pattern: '^\\d+(,\\d+)*$' },
  min_price: number,
  max_price: number,
  below_price: number,
  min_rating: { type: 'number', minimum: 1, maximum: 5 },
}
const listQuery = {
  type: 'object',
  properties: {
    ...filters,
    sort: { type: 'string', pattern: '^(-?(id|name|price|rating|reviews)|relevance)$' },
    cursor: { type: 'string' },
    count: { type: 'integer', minimum: 1 },
    fields: { type: 'string' },
    skip: { type: 'integer', minimum: 0, default: 0 },
    limit: { type: 'integer', minimum: 0, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
  },
}
const facetsQuery = { type: 'object', properties: { ...filters, price_bands: { type: 'string' } } }

const app = Fastify({ logger: false, bodyLimit: 16_777_216 })
app.addContentTypeParser('application/x-ndjson', { parseAs: 'string' }, (_request, body, done) => {
  done(
    null,
    String(body)
      .split('\n')
      .filter(Boolean)
      .map(line => JSON.parse(line)),
  )
})

app.get('/healthz', (_request, reply) => {
  reply.send({ status: 'ok' })
})

app.get<{ Querystring: ListQuery }>('/products/', { schema: { querystring: listQuery } }, (request, reply) => {
  const { query } = request
  const filters = filtersOf(query)
  const rows = page(query, filters)
  const products = rows.slice(0, query.limit)
  const last = products.at(-1)
  if (rows.length > query.limit && last) {
    const parameters = new URLSearchParams(request.url.split('?')[1])
    parameters.delete('cursor')
    parameters.delete('skip')
    reply.header('Link', `</products/?cursor=${encoded(cursorAfter(query, last))}&${parameters}>; rel="next"`)
  }
  if (query.count !== undefined) reply.header('X-Total-Count', String(countUpTo(query.count, conditionOf(filters))))
  reply.send(query.fields === undefined ? withReviews(products) : products.map(only(query.fields.split(','))))
})

app.get<{ Querystring: FacetsQuery }>(
  '/facets/products',
  { schema: { querystring: facetsQuery } },
  (request, reply) => {
    const filters = filtersOf(request.query)
    const bands = (request.query.price_bands ?? '').split(',').filter(Boolean).map(Number)
    reply.send({
      count: one<{ count: number }>('SELECT count(*) AS count FROM products', conditionOf(filters)).count,
      category_id: all(
        `SELECT coalesce(category_id, 0) AS value, (SELECT name FROM categories WHERE id = category_id) AS name, count(*) AS count
       FROM products`,
        conditionOf(filters, ['category_id']),
        'GROUP BY category_id ORDER BY count DESC, value LIMIT 20',
      ),
      price: prices(bands, conditionOf(filters, ['min_price', 'max_price', 'below_price'])),
      rating: ratings(conditionOf(filters, ['min_rating'])),
    })
  },
)

app.post<{ Body: ProductCreate | ProductCreate[] }>('/products/', (request, reply) => {
  const { body } = request
  const ids = insertProducts(Array.isArray(body) ? body : [body])
  reply.send({ id: Number(ids[0]) })
})

const address = await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 0) })
console.log(`fastify-fts5 is ready on ${address}`)

function filtersOf({ category_id, ...others }: FacetsQuery | ListQuery): Filters {
  return category_id === undefined ? others : { ...others, category_id: category_id.split(',').map(Number) }
}

/** One row more than the page has, to know whether there is another page. */
function page(query: ListQuery, filters: Filters): ProductRow[] {
  const { key, descending, ranked } = sortOf(query)
  const columns = `products.id, products.name, products.description, products.price, products.category_id, products.stars,
    products.reviews AS review_count, products.score`
  const cursor = query.cursor === undefined ? { skipped: query.skip } : decoded(query.cursor)
  const match = matchOf(filters.q ?? '')
  if (match !== '' && key === 'id') {
    // FTS5 yields matches in the order of ids by itself, in both directions, so a page needs no more than its own.
    const { sql, parameters } = conditionOf(filters, ['q'])
    const after = 'skipped' in cursor ? '' : `AND products_search.rowid ${descending ? '<' : '>'} ?`
    const [place, skipped] = 'skipped' in cursor ? [[], cursor.skipped] : [[cursor.id], 0]
    const order = ranked ? 'rank' : `products_search.rowid ${descending ? 'DESC' : 'ASC'}`
    return prepared(
      `SELECT ${columns} FROM products_search JOIN products ON products.id = products_search.rowid
       WHERE products_search MATCH ? AND ${sql} ${after} ORDER BY ${order} LIMIT ? OFFSET ?`,
    ).all(match, ...parameters, ...place, query.limit + 1, skipped) as ProductRow[]
  }
  const condition = conditionOf(filters)
  const direction = descending ? 'DESC' : 'ASC'
  const order = `ORDER BY ${SORTS[key]} ${direction}, products.id ${direction} LIMIT ? OFFSET ?`
  const after = 'skipped' in cursor ? '' : `AND (${SORTS[key]}, products.id) ${descending ? '<' : '>'} (?, ?)`
  const sql = `SELECT ${columns} FROM products WHERE ${condition.sql} ${after} ${order}`
  const place = 'skipped' in cursor ? [] : [cursor.key, cursor.id]
  const skipped = 'skipped' in cursor ? cursor.skipped : 0
  return prepared(sql).all(...condition.parameters, ...place, query.limit + 1, skipped) as ProductRow[]
}

function sortOf({ sort, q }: ListQuery): { key: SortKey; descending: boolean; ranked: boolean } {
  const hasWords = matchOf(q ?? '') !== ''
  if (sort === undefined || sort === 'relevance') return { key: 'id', descending: false, ranked: RANKED && hasWords }
  const key = sort.replace('-', '')
  return { key: key as SortKey, descending: sort.startsWith('-'), ranked: false }
}

function cursorAfter(query: ListQuery, last: ProductRow): Cursor {
  const { key, ranked } = sortOf(query)
  if (ranked) {
    const before = query.cursor === undefined ? { skipped: query.skip } : decoded(query.cursor)
    return { skipped: ('skipped' in before ? before.skipped : 0) + query.limit }
  }
  const keys = { id: last.id, name: last.name, price: last.price, rating: last.score, reviews: last.review_count }
  return { key: keys[key], id: last.id }
}

function encoded(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url')
}

function decoded(cursor: string): Cursor {
  return JSON.parse(Buffer.from(cursor, 'base64url').toString())
}

function withReviews(products: readonly ProductRow[]) {
  const ids = JSON.stringify(products.map(({ id }) => id))
  const reviews = Map.groupBy(prepared(SELECT_REVIEWS).all(ids) as ReviewRow[], review => review.product_id)
  return products.map(({ id, name, description, price }) => {
    return { id, name, description, price, reviews: (reviews.get(id) ?? []).slice(0, 100) }
  })
}

function only(fields: readonly string[]) {
  return ({ id, name, description, price, category_id, stars, review_count, score }: ProductRow) => {
    const rating = { average: review_count > 0 ? stars / review_count : null, count: review_count, score }
    const members = Object.entries({ id, name, description, price, category_id, rating })
    return Object.fromEntries(members.filter(([member]) => fields.includes(member)))
  }
}

function countUpTo(most: number, { sql, parameters }: Condition): number {
  const counting = prepared(`SELECT count(*) AS count FROM (SELECT 1 FROM products WHERE ${sql} LIMIT ?)`)
  return (counting.get(...parameters, most) as { count: number }).count
}

function prices(bands: readonly number[], condition: Condition) {
  const edges = [null, ...bands]
  const sums = edges.map((_, place) => {
    const [least, below] = [edges[place] ?? null, bands[place] ?? null]
    const parts = [...(least === null ? [] : [`price >= ${least}`]), ...(below === null ? [] : [`price < ${below}`])]
    return `sum(${parts.length > 0 ? parts.join(' AND ') : '1'}) AS band_${place}`
  })
  const row = one<Record<string, number | null>>(
    `SELECT min(price) AS min, max(price) AS max, ${sums.join(', ')} FROM products`,
    condition,
  )
  const counted = bands.length === 0 ? [] : edges
  return {
    min: row.min,
    max: row.max,
    bands: counted.map((min, place) => ({ min, max: bands[place] ?? null, count: row[`band_${place}`] ?? 0 })),
  }
}

function ratings(condition: Condition) {
  const steps = [4, 3, 2, 1]
  const sums = steps.map(min => `sum(stars >= ${min} * reviews) AS at_${min}`)
  const both = { ...condition, sql: `reviews > 0 AND ${condition.sql}` }
  const row = one<Record<string, number | null>>(`SELECT ${sums.join(', ')} FROM products`, both)
  return steps.map(min => ({ min, count: row[`at_${min}`] ?? 0 }))
}

function one<Row>(select: string, { sql, parameters }: Condition): Row {
  return prepared(`${select} WHERE ${sql}`).get(...parameters) as Row
}

function all(select: string, { sql, parameters }: Condition, rest: string): unknown[] {
  return prepared(`${select} WHERE ${sql} ${rest}`).all(...parameters)
}

function prepared(sql: string): Database.Statement {
  const statement = statements.get(sql) ?? database.prepare(sql)
  statements.set(sql, statement)
  return statement
}
