import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { idsOf } from '../../../test/harness/catalog/list-pages.ts'
import { type Client, client } from '../../../test/harness/client.ts'
import { WITHOUT_CACHE } from '../../../test/harness/contract.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService } from '../../../test/harness/service.ts'

/** Deep pages of long lists, compared with a list of ids in memory, while two processes and a third program write. */

setDefaultTimeout(120_000)

/** Several of the blocks in which ids are counted. */
const ITEMS = 120_000
const ROUNDS = 60

const REVIEWED = 40

describe('deep pages of long lists, on SQLite', () => {
  const open = new AsyncDisposableStack()
  let file: Database
  let nodes: readonly Client[] = []
  beforeAll(async () => {
    const { url } = open.use(await sqlite.freshDatabase())
    const services = await Promise.all([[], WITHOUT_CACHE].map(flags => startService(url, { flags })))
    for (const service of services) open.use(service)
    nodes = services.map(service => client(() => service.address))
    file = open.use(new Database(url.slice('sqlite:'.length)))
    file.run('PRAGMA foreign_keys = ON')
    file.run('PRAGMA busy_timeout = 10000')
  })
  afterAll(() => open.disposeAsync())

  test('a deep page has the same items as the whole list at that place, whoever creates and deletes', async () => {
    const random = randomNumbers(1)
    insert(`categories (name, description) SELECT 'Category', 'Number ' || i FROM numbers`, ITEMS)
    let ids = idsIn('categories')
    const remove = (condition: string) => {
      file.run(`DELETE FROM categories WHERE ${condition}`)
      ids = idsIn('categories')
    }
    remove('id % 7 = 3')
    for (let round = 0; round < ROUNDS; round += 1) {
      const [one, other] = round % 2 === 0 ? nodes : nodes.toReversed()
      if (!one || !other) throw new Error('no nodes')
      const skip = random(ids.length)
      expect(idsOf(await one.get(`/categories/?skip=${skip}&limit=3`)), `skip ${skip}`).toEqual(
        ids.slice(skip, skip + 3),
      )
      const start = random(ids.length)
      const rest = random(ids.length - start)
      expect(
        idsOf(await other.get(`/categories/?after_id=${ids[start]}&skip=${rest}&limit=2`)),
        `skip ${rest} after ${ids[start]}`,
      ).toEqual(ids.slice(start + 1 + rest, start + 3 + rest))

      ids.push(await other.create('/categories/', sample.category))
      const [gone] = ids.splice(random(ids.length), 1)
      await one.delete(`/categories/${gone}`)
      if (round === 20) remove('id BETWEEN 20000 AND 60000')
      if (round === 30) insert(`categories (name, description) SELECT 'Late', 'Number ' || i FROM numbers`, ITEMS / 2)
      if (round === 30) ids = idsIn('categories')
      if (round === 40) remove('id > 100000')
    }
    const past = await nodes[0]?.get(`/categories/?skip=${ids.length}`)
    expect(past?.body).toEqual([])
    const last = await nodes[1]?.get(`/categories/?skip=${ids.length - 1}&limit=1`)
    expect(last && idsOf(last)).toEqual(ids.slice(-1))
    expect(last?.headers.get('Link')).toBeNull()
    expect(file.query('SELECT block FROM counted_blocks').all()).not.toBeEmpty()
  })

  test('a deep page of reviews is right after products with many reviews were deleted', async () => {
    insert(`products (name, price, description) SELECT 'Spoon', 1, 'Number ' || i FROM numbers`, REVIEWED)
    const user = (await nodes[0]?.create('/users/', sample.user)) ?? 0
    insert(
      `reviews (product_id, user_id, rating, comment) SELECT 1 + i * 7919 % ${REVIEWED}, ${user}, 5, 'Good' FROM numbers`,
      ITEMS,
    )
    const random = randomNumbers(2)
    for (let product = 1; product <= REVIEWED; product += 10) {
      for (const api of nodes) {
        const ids = idsIn('reviews')
        const skip = random(ids.length)
        expect(idsOf(await api.get(`/reviews/?skip=${skip}&limit=3`)), `skip ${skip}`).toEqual(
          ids.slice(skip, skip + 3),
        )
        await api.delete(`/products/${product + nodes.indexOf(api)}`)
      }
    }
    await nodes[0]?.delete(`/users/${user}`)
    expect((await nodes[0]?.get(`/reviews/?skip=${ITEMS / 2}&limit=3`))?.body).toEqual([])
  })

  test('a list that was emptied and filled with lower ids is counted again', async () => {
    file.run('DELETE FROM products')
    file.run(
      'WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < 60000) ' +
        "INSERT INTO products (id, name, price, description) SELECT i * 2, 'Spoon', 1, 'Number ' || i FROM numbers",
    )
    for (const api of [...nodes, ...nodes]) {
      expect(idsOf(await api.get('/products/?skip=50000&limit=2'))).toEqual([100_002, 100_004])
    }
  })

  function insert(rows: string, count: number): void {
    const numbers = `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${count})`
    file.run(`${numbers} INSERT INTO ${rows}`)
  }

  function idsIn(table: string): number[] {
    return file
      .query<{ id: number }, []>(`SELECT id FROM ${table} ORDER BY id`)
      .all()
      .map(({ id }) => id)
  }
})

/** The same whole numbers below a limit on each run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}
