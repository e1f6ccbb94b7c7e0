import { Database, SQLiteError } from 'bun:sqlite'
import { expect, jest, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { spawn } from 'bun'
import { damage } from '../../../test/harness/damage.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { allPromises, countTurns } from '../../../test/harness/turns.ts'
import { until } from '../../../test/harness/until.ts'
import { BusyError } from '../../limits/busy-error.ts'
import { errorResponse } from '../../server/errors.ts'
import { DatabaseDamagedError, DatabaseUnavailableError } from '../errors.ts'
import type { SqliteDatabase } from './database.ts'
import { openSqlite } from './open.ts'

setDefaultTimeout(120_000)

const ROUNDS = 500
const WAITING_MAX = 64
const WAIT_MAX_MS = 5_000
const STATEMENT_MAX_MS = 20_000

const THREADS_MAX = 4

const ONE = 'SELECT 1 AS one'
const COUNT = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT count(*) AS n FROM n'
/** Counts that take some milliseconds, 40 ms or more, and several seconds. */
const SOON_ENDED = 20_000
const SLOW = 200_000
const VERY_SLOW = 20_000_000

const ITEMS = {
  part: 'items',
  sqlite: [{ name: 'items_0001', sql: 'CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT' }],
  postgres: [],
  citus: [],
}

test('a read shows every write that was acknowledged before it', async () => {
  await using shop = await openShop()
  for (let round = 1; round <= ROUNDS; round += 1) {
    await shop.insert(`item ${round}`)
    const rows = shop.database.beside.all('SELECT id, name FROM items WHERE id >= ? ORDER BY id', [round])
    expect(await rows).toEqual([{ id: round, name: `item ${round}` }])
  }
})

test('before a read resolves, the commit of another program that it shows is on the disk', async () => {
  await using shop = await openShop()
  await shop.database.beside.all(ONE, [])
  using other = new Database(shop.file)
  other.run('PRAGMA synchronous = OFF')
  for (let id = 1; id <= 3; id += 1) {
    const before = syncsOf(shop.database)
    other.run("INSERT INTO items (name) VALUES ('of another program')")
    expect(await shop.database.beside.all('SELECT max(id) AS id FROM items', [])).toEqual([{ id }])
    expect(syncsOf(shop.database)).toBe(before + 1)
  }
})

test('the event loop turns while a slow statement runs', async () => {
  await using shop = await openShop()
  using turns = countTurns()
  expect(await shop.database.beside.all(COUNT, [SLOW])).toEqual([{ n: SLOW }])
  expect(turns.count()).toBeGreaterThan(100)
})

test('64 calls may wait, and run one after the other; one more is refused with 503', async () => {
  await using shop = await openShop()
  const { beside } = shop.database
  const ended: number[] = []
  const first = beside.all(COUNT, [SLOW]).then(() => ended.push(0))
  const waiting = Array.from({ length: WAITING_MAX }, (_, place) =>
    beside.all(ONE, []).then(() => ended.push(place + 1)),
  )
  expectBusy(await beside.all(ONE, []).catch(error => error))
  expect(ended).toEqual([])
  await Promise.all([first, ...waiting])
  expect(ended).toEqual(Array.from({ length: WAITING_MAX + 1 }, (_, place) => place))
})

test('a call that has waited for 5 s is refused, and those after it are served', async () => {
  await using shop = await openShop()
  const { beside } = shop.database
  using clock = fakeTimers()
  const slow = beside.all(COUNT, [SLOW])
  const waiting = beside.all(ONE, []).catch(error => error)
  clock.advance(WAIT_MAX_MS)
  const next = beside.all(ONE, [])
  expectBusy(await waiting)
  expect(await slow).toEqual([{ n: SLOW }])
  expect(await next).toEqual([{ one: 1 }])
})

test('a statement that runs for 20 s is rejected, and the next one runs in another thread', async () => {
  await using shop = await openShop()
  using threads = watchThreads()
  const { beside } = shop.database
  using clock = fakeTimers()
  const slow = beside.all(COUNT, [VERY_SLOW]).catch(error => error)
  while (threads.started.length === 0) await Promise.resolve()
  clock.advance(STATEMENT_MAX_MS)
  expectUnavailable(await slow, 'a statement took too long')
  expect(await beside.all(ONE, [])).toEqual([{ one: 1 }])
  expect(threads.started).toHaveLength(2)
})

test('while four threads run statements that took too long, no other one starts', async () => {
  await using shop = await openShop()
  using held = heldStatements()
  using threads = watchThreads(held.script)
  const { beside } = shop.database
  {
    using clock = fakeTimers()
    for (let given = 1; given <= THREADS_MAX; given += 1) {
      const slow = beside.all(COUNT, [VERY_SLOW]).catch(error => error)
      // A thread that has not begun its statement would end at once.
      while (held.begun() < given) await Promise.resolve()
      clock.advance(STATEMENT_MAX_MS)
      expectUnavailable(await slow, 'a statement took too long')
    }
    expectUnavailable(await beside.all(ONE, []).catch(error => error), 'statements that took too long still run')
  }
  expect(threads.started).toHaveLength(THREADS_MAX)
  threads.use(null)
  held.end()
  await until(() =>
    beside.all(ONE, []).then(
      () => true,
      () => false,
    ),
  )
  expect(threads.started).toHaveLength(THREADS_MAX + 1)
})

test('a thread that was killed is replaced, and its call is rejected', async () => {
  await using shop = await openShop()
  using threads = watchThreads()
  const { beside } = shop.database
  for (let killed = 0; killed < 5; killed += 1) {
    const running = beside.all(COUNT, [SLOW]).catch(error => error)
    const next = beside.all(ONE, [])
    while (threads.started.length === killed) await Promise.resolve()
    threads.started.at(-1)?.terminate()
    expectUnavailable(await running, 'a thread of the database ended')
    expect(await next).toEqual([{ one: 1 }])
    expect(threads.started).toHaveLength(2 + killed)
  }
})

test('a thread that fails to start is replaced by the next call', async () => {
  await using shop = await openShop()
  const { beside } = shop.database
  using threads = watchThreads('import nothing')
  expectUnavailable(await beside.all(ONE, []).catch(error => error), 'a thread of the database failed')
  threads.use(null)
  expect(await beside.all(ONE, [])).toEqual([{ one: 1 }])
})

test('a stop waits for a statement that soon ends, refuses those that wait, and removes the companion files', async () => {
  await using shop = await openShop()
  await shop.insert('item')
  // The thread runs already, so that the statement ends long before a stop gives up.
  await shop.database.beside.all(ONE, [])
  const running = shop.database.beside.all(COUNT, [SOON_ENDED])
  const waiting = shop.database.beside.all(ONE, []).catch(error => error)
  await allPromises()
  {
    // So that it does not give up.
    using _ = fakeTimers()
    await shop.database[Symbol.asyncDispose]()
  }
  expect(await running).toEqual([{ n: SOON_ENDED }])
  expectUnavailable(await waiting, 'the database is closed')
  for (const ending of ['-wal', '-shm']) expect(existsSync(shop.file + ending)).toBe(false)
  expectUnavailable(await shop.database.beside.all(ONE, []).catch(error => error), 'the database is closed')
})

test('a stop does not wait for a statement that takes long', async () => {
  await using shop = await openShop()
  using held = heldStatements()
  await shop.insert('item')
  {
    using _ = watchThreads(held.script)
    const order: string[] = []
    const running = shop.database.beside.all(COUNT, [VERY_SLOW]).catch(error => order.push(String(error)))
    await until(() => held.begun() === 1)
    await shop.database[Symbol.asyncDispose]()
    await allPromises()
    held.end()
    order.push('ended')
    await running
    expect(order).toEqual([expect.stringContaining('the database is closed'), 'ended'])
  }
  await using again = await openSqlite(shop.file, [ITEMS])
  expect(await again.beside.all('SELECT name FROM items', [])).toEqual([{ name: 'item' }])
})

test('nothing starts for a database that is not read beside, and an idle thread keeps no process alive', async () => {
  using threads = watchThreads()
  {
    await using shop = await openShop()
    await shop.insert('item')
  }
  expect(threads.started).toEqual([])
  using folder = temporaryFolder()
  const script = `
    import { openSqlite } from ${JSON.stringify(join(import.meta.dir, 'open.ts'))}
    const database = await openSqlite(${JSON.stringify(join(folder.path, 'shop.db'))}, [])
    process.stdout.write(JSON.stringify(await database.beside.all(${JSON.stringify(COUNT)}, [${SLOW}])))`
  const child = spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' })
  expect(JSON.parse(await child.stdout.text())).toEqual([{ n: SLOW }])
  expect(await child.exited).toBe(0)
})

test('an error of SQLite is the one of the main connection', async () => {
  await using shop = await openShop()
  const { beside } = shop.database
  const wrong = 'SELECT id FROM other'
  const own = await beside.all(wrong, []).catch(error => error)
  const main = await shop.database.bulkRead(async ({ prepare }) => prepare(wrong)).catch(error => error)
  expect(own).toBeInstanceOf(SQLiteError)
  for (const key of ['name', 'message', 'code', 'errno'] as const) expect(own[key]).toEqual(main[key])
  expectUnavailable(await beside.all("INSERT INTO items (name) VALUES ('')", []).catch(error => error), 'readonly')
  expect(await beside.all('SELECT ? AS n, ? AS text, ? AS none', [1.5, 'ü', null])).toEqual([
    { n: 1.5, text: 'ü', none: null },
  ])
})

test('an error that has ended the transaction of several statements is reported, and the next ones run', async () => {
  await using shop = await openShop()
  const { beside } = shop.database
  const failed = beside.together(async all => {
    // As SQLite does by itself when the disk fails.
    await all('ROLLBACK', [])
    await all('SELECT missing', [])
  })
  await expect(failed).rejects.toThrow('no such column: missing')
  expect(await beside.together(all => all(ONE, []))).toEqual([{ one: 1 }])
})

test('more statements than the thread keeps prepared are answered', async () => {
  await using shop = await openShop()
  for (let round = 0; round < 2; round += 1) {
    for (let n = 0; n < 100; n += 1) expect(await shop.database.beside.all(`SELECT ${n} AS n`, [])).toEqual([{ n }])
  }
})

test('damage that the thread meets counts for the whole database', async () => {
  await using shop = await openShop()
  await shop.insert('item')
  await shop.database[Symbol.asyncDispose]()
  damage(shop.file, 'items')
  await using again = await openSqlite(shop.file, [ITEMS])
  const error = await again.beside.all('SELECT id FROM items', []).catch(error => error)
  expect(error).toBeInstanceOf(DatabaseDamagedError)
  await expect(again.write(() => {})).rejects.toBeInstanceOf(DatabaseDamagedError)
})

test('a file that was moved away is not read, and is read again once it is back', async () => {
  await using shop = await openShop()
  const { beside } = shop.database
  expect(await beside.all(ONE, [])).toEqual([{ one: 1 }])
  renameSync(shop.file, `${shop.file}.away`)
  expectUnavailable(await beside.all(ONE, []).catch(error => error), 'deleted, moved or replaced')
  renameSync(`${shop.file}.away`, shop.file)
  expect(await beside.all(ONE, [])).toEqual([{ one: 1 }])
})

interface Shop extends AsyncDisposable {
  readonly database: SqliteDatabase
  readonly file: string
  readonly insert: (name: string) => Promise<unknown>
}

async function openShop(): Promise<Shop> {
  const open = new AsyncDisposableStack()
  const file = join(open.use(temporaryFolder()).path, 'shop.db')
  const database = await openSqlite(file, [ITEMS])
  const insert = database.prepare<[string]>('INSERT INTO items (name) VALUES (?)')
  let isClosed = false
  const close = database[Symbol.asyncDispose].bind(database)
  database[Symbol.asyncDispose] = async () => {
    if (!isClosed) await close()
    isClosed = true
  }
  open.use(database)
  return {
    database,
    file,
    insert: name => database.write(() => insert.run(name)),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

function syncsOf({ figures }: SqliteDatabase): number {
  return figures.syncSeconds.counts.reduce((sum, count) => sum + count, 0)
}

interface Threads extends Disposable {
  readonly started: readonly Worker[]
  /** Further threads run this script in place of their own. */
  readonly use: (script: string | null) => void
}

function watchThreads(script: string | null = null): Threads {
  const started: Worker[] = []
  let used = script
  const real = Worker
  globalThis.Worker = class extends real {
    constructor(url: string | URL) {
      super(used === null ? url : URL.createObjectURL(new Blob([used])))
      started.push(this)
    }
  }
  return {
    started,
    use: next => {
      used = next
    },
    [Symbol.dispose]: () => {
      globalThis.Worker = real
    },
  }
}

/** A script for threads whose statements end when the test says so, because those of SQLite end after a time of their own. */
function heldStatements() {
  const folder = temporaryFolder()
  const begun = () => readdirSync(folder.path).length
  const end = () => rmSync(folder.path, { recursive: true, force: true })
  const script = `
    import { existsSync, writeFileSync } from 'node:fs'
    self.onmessage = () => {
      writeFileSync(${JSON.stringify(folder.path)} + '/' + crypto.randomUUID(), '')
      while (existsSync(${JSON.stringify(folder.path)})) Bun.sleepSync(5)
    }`
  return { script, begun, end, [Symbol.dispose]: end }
}

function fakeTimers(): Disposable & { readonly advance: (ms: number) => void } {
  jest.useFakeTimers()
  return {
    advance: ms => jest.advanceTimersByTime(ms),
    [Symbol.dispose]: () => jest.useRealTimers(),
  }
}

function expectBusy(error: unknown): void {
  expect(error).toBeInstanceOf(BusyError)
  const { status, headers } = errorResponse(error, 'request')
  expect({ status, retryAfter: headers.get('Retry-After') }).toEqual({ status: 503, retryAfter: '1' })
}

function expectUnavailable(error: unknown, message: string): void {
  expect(error).toBeInstanceOf(DatabaseUnavailableError)
  expect(String(error)).toContain(message)
}
