import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cacheFigures } from '../../../test/harness/catalog/cache-figures.ts'
import { listOf, priceOf } from '../../../test/harness/catalog/resources.ts'
import { type Client, client } from '../../../test/harness/client.ts'
import { connected, createDatabase } from '../../../test/harness/postgres/database.ts'
import { openedDatabase } from '../../../test/harness/postgres/opened.ts'
import { PostgresServer } from '../../../test/harness/postgres/server.ts'
import { sample } from '../../../test/harness/samples.ts'
import { run, type Service, startService } from '../../../test/harness/service.ts'
import { until } from '../../../test/harness/until.ts'
import { catalogMigrations } from '../../catalog/migrations/index.ts'
import { LOG_NO_CHANGES } from './changes.ts'

setDefaultTimeout(120_000)

const PRODUCTS = 40
/** Without followers, the log is short. */
const FLAGS = ['--access-log', 'off', '--events-kept', '0']
/** More transactions than the log keeps without followers. */
const MANY_TRANSACTIONS = 9_000
const MANY_WRITES = 600
/** The events that it keeps then, and a tenth. */
const LOGGED_MAX = 9_011

interface Node {
  readonly service: Service
  readonly api: Client
}

/** A server of its own: on the shared one, transactions in other databases would clear the caches. */
let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

/** The nodes of a fresh database. */
class TwoNodes implements AsyncDisposable {
  readonly #open = new AsyncDisposableStack()
  url = ''

  static async on(): Promise<TwoNodes> {
    const nodes = new TwoNodes()
    nodes.url = nodes.#open.use(await createDatabase(server.url())).url
    return nodes
  }

  async start(): Promise<Node> {
    const service = this.#open.use(await startService(this.url, { flags: FLAGS }))
    return { service, api: client(() => service.address) }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#open.disposeAsync()
  }
}

test('what one node writes takes nothing else out of the cache of another, nor out of its own', async () => {
  await using nodes = await TwoNodes.on()
  const [reader, writer] = [await nodes.start(), await nodes.start()]
  const products = await createProducts(reader.api)
  const user = await writer.api.create('/users/', sample.user)
  // The first answer of a server only tells where to count changes from.
  for (const read of [0, 1]) expect(await pricesOf(reader.api, products), `${read}`).toHaveLength(PRODUCTS)
  const before = PRODUCTS
  await writer.api.create('/reviews/', sample.review(products[0] ?? 0, user))
  await writer.api.put(`/products/${products[1]}`, { ...sample.product, price: 2 })
  await reader.api.put(`/products/${products[2]}`, { ...sample.product, price: 3 })
  const tag = (await writer.api.get(`/products/${products[4]}`)).headers.get('ETag') ?? ''
  const refused = await writer.api.send(`/products/${products[3]}`, { method: 'DELETE', headers: { 'If-Match': tag } })
  expect(refused.status).toBe(412)
  expect((await pricesOf(reader.api, products)).slice(1, 3)).toEqual([2, 3])
  await reader.service.stop()
  const { hits, misses, clears } = cacheFigures(reader.service)
  expect({ clears, reads: hits + misses }).toEqual({ clears: 1, reads: 3 * PRODUCTS })
  expect(hits).toBeGreaterThanOrEqual(before - 3)
})

test('an update that is refused because its row changed while it waited takes nothing out of a cache', async () => {
  await using nodes = await TwoNodes.on()
  const [reader, writer] = [await nodes.start(), await nodes.start()]
  const product = await writer.api.create('/products/', sample.product)
  const category = await writer.api.create('/categories/', sample.category)
  // The first answer of a server only tells where to count changes from.
  for (const _ of ['first', 'second']) await reader.api.get(`/products/${product}`)
  await using other = connected(nodes.url)
  await using watching = connected(nodes.url)
  const isWaiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
  for (const [table, id, body] of [
    ['products', product, sample.product],
    ['categories', category, sample.category],
  ] as const) {
    const path = `/${table}/${id}`
    const tag = (await writer.api.get(path)).headers.get('ETag') ?? ''
    await other.unsafe(`
      BEGIN;
      UPDATE ${table} SET revision = revision + 1 WHERE id = ${id};
      INSERT INTO change_log (transaction_id, changes) VALUES (pg_current_xact_id()::text::bigint, '[]')`)
    const headers = { 'If-Match': tag, 'Content-Type': 'application/json' }
    const refused = writer.api.send(path, { method: 'PUT', body: JSON.stringify(body), headers })
    await until(async () => (await watching.unsafe(isWaiting)).length > 0)
    await other.unsafe('COMMIT')
    expect((await refused).status).toBe(412)
  }
  await reader.api.get(`/products/${product}`)
  await reader.service.stop()
  expect(cacheFigures(reader.service)).toMatchObject({ clears: 1 })
})

test('a bulk load and a cascading delete by another node are shown at once, and take nothing else out of the cache', async () => {
  await using nodes = await TwoNodes.on()
  const [reader, writer] = [await nodes.start(), await nodes.start()]
  const [deleted = 0, ...products] = await createProducts(writer.api)
  const user = await writer.api.create('/users/', sample.user)
  const review = await writer.api.create('/reviews/', sample.review(deleted, user))
  const [categories, reviews, owner] = ['/categories/', '/reviews/', `/users/${user}`]
  const paths = [categories, reviews, owner, ...products.map(id => `/products/${id}`)]
  // The first answer of a server only tells where to count changes from.
  for (const _ of ['first', 'second']) await Promise.all(paths.map(path => reader.api.get(path)))
  const category = JSON.stringify(sample.category)
  const headers = { 'Content-Type': 'application/x-ndjson' }
  await writer.api.send(categories, { method: 'POST', body: category, headers })
  const imported = ['import', '--database', nodes.url, '--resource', 'categories', '--format', 'ndjson', '-']
  expect((await run(imported, { input: `${category}\n${category}` })).status).toBe(0)
  expect(await listOf(reader.api, categories)).toHaveLength(3)
  await writer.api.delete(`/products/${deleted}`)
  expect(await listOf(reader.api, reviews)).toEqual([])
  expect((await reader.api.get(owner)).body).toMatchObject({ reviews: [] })
  expect((await reader.api.get(`/reviews/${review}`)).status).toBe(404)
  await pricesOf(reader.api, products)
  await reader.service.stop()
  const { hits, clears } = cacheFigures(reader.service)
  expect(clears).toBe(1)
  expect(hits).toBeGreaterThanOrEqual(products.length)
})

test('what another program writes amid the writes of a node is shown at once', async () => {
  await using nodes = await TwoNodes.on()
  const [reader, writer] = [await nodes.start(), await nodes.start()]
  const products = await createProducts(writer.api)
  await using other = connected(nodes.url)
  for (const through of [reader, writer]) {
    const base = through === reader ? 100 : 200
    for (let times = 0; times < 2; times += 1) await pricesOf(reader.api, products)
    await through.api.put(`/products/${products[0]}`, { ...sample.product, price: base })
    await other.unsafe(`UPDATE products SET price = ${base + 1} WHERE id = ${products[1]}`)
    await through.api.put(`/products/${products[2]}`, { ...sample.product, price: base + 2 })
    expect((await pricesOf(reader.api, products)).slice(0, 3)).toEqual([base, base + 1, base + 2])
  }
})

test('what another program writes is noticed while an older transaction is in progress, and what was known is not told again', async () => {
  await using empty = await createDatabase(server.url())
  await using database = await openedDatabase(empty.url, { migrations: [catalogMigrations] })
  await using older = connected(empty.url)
  await using other = connected(empty.url)
  const { changes } = database
  const told: unknown[] = []
  changes.onChange(change => told.push(change))
  await older.unsafe('BEGIN; SELECT pg_current_xact_id()')
  const [row] = await database.readPrimary<{ state: string }>(`SELECT ${changes.state} AS state`)
  changes.observe(row?.state ?? null)
  await database.write(LOG_NO_CHANGES)
  await changes.current(() => null)
  await other.unsafe('CREATE TABLE orders ()')
  await changes.current(() => null)
  expect(told).toEqual(['unknown', [], 'unknown'])
})

test('a transaction that was in progress for long is shown as soon as it commits', async () => {
  await using nodes = await TwoNodes.on()
  const [reader, writer] = [await nodes.start(), await nodes.start()]
  const products = await createProducts(writer.api)
  await using other = connected(nodes.url)
  await other.unsafe('BEGIN')
  await other.unsafe(`UPDATE products SET price = 7 WHERE id = ${products[0]}`)
  for (let price = 1; price <= MANY_WRITES; price += 1) {
    await writer.api.put(`/products/${products[1]}`, { ...sample.product, price })
    if (price % 10 === 0) expect((await pricesOf(reader.api, products)).slice(0, 2)).toEqual([34.5, price])
  }
  await other.unsafe('COMMIT')
  expect((await pricesOf(reader.api, products)).slice(0, 2)).toEqual([7, MANY_WRITES])
})

test('a log that was restored from a dump accounts for no transaction of another program', async () => {
  await using nodes = await TwoNodes.on()
  const reader = await nodes.start()
  const products = await createProducts(reader.api)
  await using other = connected(nodes.url)
  for (let price = 1; price <= 5; price += 1) {
    await other.unsafe(`
      INSERT INTO change_log (transaction_id, changes)
      VALUES (pg_current_xact_id()::text::bigint + 1, '[]')`)
    for (let times = 0; times < 2; times += 1) await pricesOf(reader.api, products)
    await other.unsafe(`UPDATE products SET price = ${price} WHERE id = ${products[0]}`)
    expect((await pricesOf(reader.api, products))[0]).toBe(price)
  }
})

test('a node that has read nothing for many transactions shows what they changed, and the log stays short', async () => {
  await using nodes = await TwoNodes.on()
  const [reader, writer] = [await nodes.start(), await nodes.start()]
  const products = await createProducts(writer.api)
  for (let times = 0; times < 2; times += 1) await pricesOf(reader.api, products)
  await writer.api.put(`/products/${products[0]}`, { ...sample.product, price: 7 })
  await using other = connected(nodes.url)
  await other.unsafe(
    `DO $$ BEGIN
      FOR i IN 1..${MANY_TRANSACTIONS} LOOP
        INSERT INTO change_log (transaction_id, changes, events, tag) VALUES (pg_current_xact_id()::text::bigint, '[]', 1, 7);
        COMMIT;
      END LOOP;
    END $$`,
  )
  for (let price = 1; price <= MANY_WRITES; price += 1) {
    await writer.api.put(`/products/${products[1]}`, { ...sample.product, price })
  }
  expect((await pricesOf(reader.api, products)).slice(0, 2)).toEqual([7, MANY_WRITES])
  const logged = async () => {
    const [log] = await other.unsafe<{ events: number }[]>('SELECT sum(events)::int AS events FROM change_log')
    return log?.events ?? 0
  }
  await until(async () => (await logged()) <= LOGGED_MAX)
})

async function createProducts(api: Client): Promise<number[]> {
  const ids: number[] = []
  // One after another, so that each is a transaction.
  for (let made = 0; made < PRODUCTS; made += 1) ids.push(await api.create('/products/', sample.product))
  return ids
}

function pricesOf(api: Client, products: readonly number[]): Promise<unknown[]> {
  return Promise.all(products.map(async id => priceOf((await api.get(`/products/${id}`)).body)))
}
