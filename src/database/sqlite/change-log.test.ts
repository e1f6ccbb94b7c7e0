import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, spyOn, test } from 'bun:test'
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFigures } from '../../../test/harness/catalog/cache-figures.ts'
import { listOf, priceOf } from '../../../test/harness/catalog/resources.ts'
import { type Client, client } from '../../../test/harness/client.ts'
import { sample } from '../../../test/harness/samples.ts'
import { run, type Service, startService } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { until } from '../../../test/harness/until.ts'
import { Checkpoints } from './checkpoints.ts'
import { openSqlite } from './open.ts'

setDefaultTimeout(120_000)

const PRODUCTS = 40
/** Without followers, the log is short. */
const FLAGS = ['--access-log', 'off', '--events-kept', '0']

/** More than are read at once. */
const MANY_COMMITS = 1_300
/** Fewer events than the log keeps without followers, more than it keeps, and what it keeps and a tenth. */
const FEW_EVENTS = 8_000
const MANY_EVENTS = 9_500
const LOGGED_MAX = 9_011
/** Enough for their removal to take a while. */
const VERY_MANY_EVENTS = 300_000

/** SQLite keeps two copies of it at the beginning of the file that connections share. */
const HEADER_BYTES = 48

interface Process {
  readonly service: Service
  readonly api: Client
}

class TwoProcesses implements AsyncDisposable {
  readonly #folder = temporaryFolder()
  readonly file = join(this.#folder.path, 'shop.db')
  readonly #open = new AsyncDisposableStack()

  async start(): Promise<Process> {
    const service = this.#open.use(await startService(`sqlite:${this.file}`, { flags: FLAGS }))
    return { service, api: client(() => service.address) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.disposeAsync()
    this.#folder[Symbol.dispose]()
  }
}

test('what one process writes takes nothing else out of the cache of another', async () => {
  await using processes = new TwoProcesses()
  const [reader, writer] = [await processes.start(), await processes.start()]
  const products = await createProducts(writer.api)
  const user = await writer.api.create('/users/', sample.user)
  await pricesOf(reader.api, products)
  const [first = 0, second = 0] = products
  const review = await writer.api.create('/reviews/', sample.review(first, user))
  await writer.api.put(`/products/${second}`, { ...sample.product, price: 2 })
  const shown = await pricesOf(reader.api, products)
  expect(shown[1]).toBe(2)
  expect((await reader.api.get(`/products/${first}`)).body).toMatchObject({ reviews: [{ id: review }] })
  await reader.service.stop()
  // The first product was read again, and was a hit the second time.
  expect(cacheFigures(reader.service)).toEqual({ hits: PRODUCTS - 2 + 1, misses: PRODUCTS + 2, clears: 0 })
})

test('a bulk load and a cascading delete by another process are shown at once, and take nothing else out of the cache', async () => {
  await using processes = new TwoProcesses()
  const [reader, writer] = [await processes.start(), await processes.start()]
  const [deleted = 0, ...products] = await createProducts(writer.api)
  const user = await writer.api.create('/users/', sample.user)
  const review = await writer.api.create('/reviews/', sample.review(deleted, user))
  const [categories, reviews, owner] = ['/categories/', '/reviews/', `/users/${user}`]
  const paths = [categories, reviews, owner, ...products.map(id => `/products/${id}`)]
  await Promise.all(paths.map(path => reader.api.get(path)))
  const category = JSON.stringify(sample.category)
  const headers = { 'Content-Type': 'application/x-ndjson' }
  await writer.api.send(categories, { method: 'POST', body: category, headers })
  const imported = [
    'import',
    '--database',
    `sqlite:${processes.file}`,
    '--resource',
    'categories',
    '--format',
    'ndjson',
    '-',
  ]
  expect((await run(imported, { input: `${category}\n${category}` })).status).toBe(0)
  expect(await listOf(reader.api, categories)).toHaveLength(3)
  await writer.api.delete(`/products/${deleted}`)
  expect(await listOf(reader.api, reviews)).toEqual([])
  expect((await reader.api.get(owner)).body).toMatchObject({ reviews: [] })
  expect((await reader.api.get(`/reviews/${review}`)).status).toBe(404)
  await pricesOf(reader.api, products)
  await reader.service.stop()
  const { misses, clears } = cacheFigures(reader.service)
  // The review, the user, the products; then the three categories, the user again, and the deleted review.
  expect({ misses, clears }).toEqual({ misses: products.length + 2 + 5, clears: 0 })
})

test('what another program writes amid the writes of a process is shown at once', async () => {
  await using processes = new TwoProcesses()
  const [reader, writer] = [await processes.start(), await processes.start()]
  const products = await createProducts(writer.api)
  using other = new Database(processes.file)
  const writeByOther = (price: number, id: number | undefined) =>
    other.run('UPDATE products SET price = ? WHERE id = ?', [price, id ?? 0])
  for (const through of [reader, writer]) {
    const base = through === reader ? 100 : 200
    await pricesOf(reader.api, products)
    await through.api.put(`/products/${products[0]}`, { ...sample.product, price: base })
    writeByOther(base + 1, products[1])
    await through.api.put(`/products/${products[2]}`, { ...sample.product, price: base + 2 })
    expect((await pricesOf(reader.api, products)).slice(0, 3)).toEqual([base, base + 1, base + 2])
    await through.api.put(`/products/${products[2]}`, { ...sample.product, price: base + 2 })
    writeByOther(base + 3, products[3])
    expect((await pricesOf(reader.api, products)).slice(0, 4)).toEqual([base, base + 1, base + 2, base + 3])
  }
})

test('a change of a table that only a newer version of the program knows takes nothing out of the cache', async () => {
  await using processes = new TwoProcesses()
  const reader = await processes.start()
  const product = await reader.api.create('/products/', sample.product)
  await pricesOf(reader.api, [product])
  using newer = new Database(processes.file)
  newer.run(`
    INSERT INTO change_log (commit_number, changes, logged_at, tag, events)
    SELECT commit_number + 1, '[{"table":"orders","id":1,"before":null,"after":{}}]', 0, 1, events + 1
    FROM change_log ORDER BY place DESC LIMIT 1`)
  await pricesOf(reader.api, [product])
  await reader.service.stop()
  expect(cacheFigures(reader.service)).toEqual({ hits: 1, misses: 1, clears: 0 })
})

test('a write that changes nothing adds nothing to the log, and takes nothing out of the cache', async () => {
  await using processes = new TwoProcesses()
  const { api, service } = await processes.start()
  const product = await api.create('/products/', sample.product)
  await pricesOf(api, [product])
  using file = new Database(processes.file)
  const rows = file.prepare<{ rows: number }, []>('SELECT count(*) AS rows FROM change_log')
  const before = rows.get()
  expect((await api.put('/products/999', sample.product)).status).toBe(404)
  expect(rows.get()).toEqual(before)
  await pricesOf(api, [product])
  await service.stop()
  expect(cacheFigures(service)).toEqual({ hits: 1, misses: 1, clears: 0 })
})

test('a commit of another program right after one of this process is told', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'shop.db')
  await using database = await openSqlite(path, [])
  using other = new Database(path)
  const told: unknown[] = []
  database.onChange(changes => told.push(changes))
  database.current(() => {})
  const change = { table: 'categories', id: 1, before: null, after: {} }
  using _ = spyOn(Checkpoints.prototype, 'committed').mockImplementationOnce(() => {
    other.run('PRAGMA user_version = 7')
    return null
  })
  await database.write(changes => changes.push(change))
  database.current(() => {})
  expect(told).toEqual([[], [change], 'unknown'])
})

test('a process that has read nothing for many commits shows what they changed', async () => {
  await using processes = new TwoProcesses()
  const [reader, writer] = [await processes.start(), await processes.start()]
  const products = await createProducts(writer.api)
  await pricesOf(reader.api, products)
  await writer.api.put(`/products/${products[0]}`, { ...sample.product, price: 7 })
  for (let price = 1; price <= MANY_COMMITS; price += 1) {
    await writer.api.put(`/products/${products[1]}`, { ...sample.product, price })
  }
  expect((await pricesOf(reader.api, products)).slice(0, 2)).toEqual([7, MANY_COMMITS])
})

test('without followers, the log stays short', async () => {
  await using processes = new TwoProcesses()
  await (await processes.start()).service.stop()
  logEvents(processes.file, FEW_EVENTS)
  const { api } = await processes.start()
  let created = FEW_EVENTS
  const creating = async () => {
    for (; created < MANY_EVENTS; created += 1) await api.create('/categories/', sample.category)
  }
  await Promise.all(Array.from({ length: 50 }, creating))
  using file = new Database(processes.file, { readonly: true })
  const logged = file.query<{ events: number }, []>('SELECT max(events) - min(events) AS events FROM change_log')
  await until(() => (logged.get()?.events ?? 0) <= LOGGED_MAX)
})

test('a log from before the last start accounts for no commit of another program', async () => {
  await using processes = new TwoProcesses()
  const before = await processes.start()
  const [product = 0, ...products] = await createProducts(before.api)
  await before.service.stop()
  const reader = await processes.start()
  using other = new Database(processes.file)
  for (let price = 1; price <= PRODUCTS; price += 1) {
    await pricesOf(reader.api, products)
    other.run('UPDATE products SET price = ? WHERE id = ?', [price, product])
    expect(await pricesOf(reader.api, [product])).toEqual([price])
  }
})

test('after SQLite has restored its shared file and starts its count of commits again, an equal or lower count hides no commit', async () => {
  await using processes = new TwoProcesses()
  const [reader, writer] = [await processes.start(), await processes.start()]
  const [product = 0, ...products] = await createProducts(writer.api)
  await pricesOf(reader.api, [product, ...products])
  const commits = breakHeader(`${processes.file}-shm`)
  expect(commits).toBeGreaterThan(PRODUCTS)
  for (let price = 1; price <= commits; price += 1) {
    await writer.api.put(`/products/${product}`, { ...sample.product, price })
  }
  expect(await pricesOf(reader.api, [product])).toEqual([commits])
  breakHeader(`${processes.file}-shm`)
  using other = new Database(processes.file)
  other.run('UPDATE products SET price = 0.5 WHERE id = ?', [product])
  expect(await pricesOf(reader.api, [product])).toEqual([0.5])
})

test('a log that an earlier version made for caches alone becomes one that followers can read', async () => {
  await using processes = new TwoProcesses()
  await run(['seed', '--database', `sqlite:${processes.file}`, '--products', '3'])
  {
    using file = new Database(processes.file)
    file.run("DELETE FROM migrations WHERE name = 'database_0001'")
    file.run('DROP TABLE change_log')
    file.run(`CREATE TABLE change_log (
      place INTEGER PRIMARY KEY, commit_number INTEGER NOT NULL, changes TEXT NOT NULL) STRICT`)
    file.run("INSERT INTO change_log VALUES (7, 1, '[]')")
  }
  const [reader, writer] = [await processes.start(), await processes.start()]
  await pricesOf(reader.api, [1])
  await writer.api.put('/products/1', { ...sample.product, price: 77 })
  expect(await pricesOf(reader.api, [1])).toEqual([77])
  using file = new Database(processes.file, { readonly: true })
  expect(file.query('SELECT place, events FROM change_log ORDER BY place').values()).toEqual([
    [8, 1],
    [9, 2],
  ])
})

test('a stop does not wait until all old events are removed', async () => {
  await using processes = new TwoProcesses()
  await (await processes.start()).service.stop()
  logEvents(processes.file, VERY_MANY_EVENTS)
  const { service } = await processes.start()
  expect(await service.stop()).toBe(0)
  using left = new Database(processes.file)
  const [{ rows } = { rows: 0 }] = left.query<{ rows: number }, []>('SELECT count(*) AS rows FROM change_log').all()
  expect(rows).toBeGreaterThan(LOGGED_MAX)
})

async function createProducts(api: Client): Promise<number[]> {
  const ids: number[] = []
  // One after another, so that each is a commit.
  for (let made = 0; made < PRODUCTS; made += 1) ids.push(await api.create('/products/', sample.product))
  return ids
}

/** Fills the log of an empty catalog, past any process. */
function logEvents(path: string, events: number): void {
  using file = new Database(path)
  file.run(`
    INSERT INTO change_log (commit_number, changes, logged_at, tag, events)
    WITH RECURSIVE numbers(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${events})
    SELECT i, '[{"table":"categories","id":1,"before":{},"after":{}}]', 0, 1, i FROM numbers`)
}

/** Breaks both copies of the header, as if a process had been killed amid a commit. Returns the number of commits in it. */
function breakHeader(path: string): number {
  const sharedFile = openSync(path, 'r+')
  const header = new Uint32Array(HEADER_BYTES / 4)
  readSync(sharedFile, header, 0, HEADER_BYTES, 0)
  writeSync(sharedFile, new Uint8Array(2 * HEADER_BYTES), 0, 2 * HEADER_BYTES, 0)
  closeSync(sharedFile)
  return header[2] ?? 0
}

function pricesOf(api: Client, products: readonly number[]): Promise<unknown[]> {
  return Promise.all(products.map(async id => priceOf((await api.get(`/products/${id}`)).body)))
}
