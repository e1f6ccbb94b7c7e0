import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test'
import { join } from 'node:path'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { openSqlite } from '../../database/sqlite/open.ts'
import { CATEGORIES } from '../categories/stored.ts'
import { catalogMigrations } from '../migrations/index.ts'
import { PRODUCTS } from '../products/stored.ts'
import { repositoriesOf } from '../repositories.ts'
import { REVIEWS } from '../reviews/stored.ts'
import { USERS } from '../users/stored.ts'
import { wholeList } from './query.ts'
import type { StoredResource, Values } from './resource.ts'
import type { Lists } from './store.ts'

/** Checks query plans of SQLite. They are the same for any number of rows. */

const open = new AsyncDisposableStack()
let plans: { sql: string; steps: string[] }[] = []
/** The statements of the thread for long reads. */
let longReads: string[] = []

beforeAll(async () => {
  const folder = open.use(temporaryFolder())
  const path = join(folder.path, 'stockroom.db')
  await using database = await openSqlite(path, [catalogMigrations])
  // More than the event loop looks for before it leaves a list to the thread.
  const addCategories = database.prepare<[]>(
    `WITH RECURSIVE ids AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM ids WHERE id < 10002)
    INSERT INTO categories (id, name, description) SELECT id, 'Garden', 'Tools' FROM ids`,
  )
  using prepare = spyOn(database, 'prepare')
  using prepareScan = spyOn(database.scans, 'prepare')
  using readLong = spyOn(database.beside, 'all')
  const { categories, products, reviews, users } = repositoriesOf(database, {
    cacheBytes: 0,
    idempotencyBytes: 0,
  })
  await database.write(() => addCategories.run())
  await readLists(CATEGORIES, categories)
  await readLists(PRODUCTS, products)
  await readLists(REVIEWS, reviews)
  await readLists(USERS, users)
  longReads = readLong.mock.calls.map(([sql]) => sql)
  using file = new Database(path)
  plans = [...prepare.mock.calls, ...prepareScan.mock.calls, ...readLong.mock.calls].map(([sql]) => ({
    sql,
    steps: file
      .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql.replaceAll('?', '+?')}`)
      .all()
      .map(({ detail }) => detail),
  }))
})
afterAll(() => open.disposeAsync())

test('every statement of the catalog finds its rows by an index, and sorts nothing', () => {
  expect(plans.length).toBeGreaterThan(60)
  for (const { sql, steps } of plans) {
    for (const step of steps) {
      expect(step, sql).not.toMatch(/^SCAN \w+( AS "?\w+"?)?$/)
      expect(step, sql).not.toContain('TEMP B-TREE')
    }
  }
})

test('what a product or a user shows of its reviews is read from an index alone', () => {
  const arrays = plans.filter(({ sql }) => /reviews AS item INDEXED BY reviews_by_(product|user)/.test(sql))
  expect(arrays.length).toBeGreaterThan(3)
  for (const { sql, steps } of arrays) {
    expect(steps, sql).toBeArrayOfSize(1)
    expect(steps[0], sql).toContain('COVERING INDEX')
  }
})

test('only a list that has very many rows to pass over is read on the thread for long reads, by its index', () => {
  // The categories from the first one, and after an id.
  expect(longReads).toBeArrayOfSize(2)
  for (const sql of longReads) expect(sql).toMatch(/ FROM categories .*INDEXED BY \w+\s.* LIMIT \? OFFSET \?$/s)
})

/** Reads every kind of list that a resource describes, in every way. */
async function readLists<Row extends Values>({ lists }: StoredResource<Row>, store: Lists<Row>): Promise<void> {
  for (const { by } of [{ by: [] }, ...lists]) {
    const where = by.map(column => ({ column, is: '=' as const, value: 1 }))
    for (const after of [null, [1]]) {
      const query = { ...wholeList<Row>(), where, from: { after, skip: 0 } }
      await store.page({ ...query, limit: 1 })
      await store.page({ ...query, from: { after, skip: 100_000 }, limit: 1 })
      await store.end(query)
      await store.scan({ ...query, until: [1] })
    }
  }
}
