import { Database } from 'bun:sqlite'
import { expect, jest, setDefaultTimeout, spyOn, test } from 'bun:test'
import { existsSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { countTurns } from '../../../test/harness/turns.ts'
import { until } from '../../../test/harness/until.ts'
import { DatabaseDamagedError, DatabaseUnavailableError } from '../errors.ts'
import { FileCondition } from './condition.ts'
import type { SqliteDatabase } from './database.ts'
import { openSqlite } from './open.ts'
import { rowsOf } from './steps.ts'
import { Thread } from './thread.ts'

setDefaultTimeout(120_000)

const MIB = 1_048_576

/** The event loop would not turn while it copies the log itself. */
const TURNS_MIN = 10

/** A slow disk stores a gigabyte of scattered pages within this. */
const LONG_MS = 200_000

/** A write that waits for another program asks for the lock several times within this. */
const POLLED_MS = 10

const ITEMS = {
  part: 'items',
  sqlite: [{ name: 'items_0001', sql: 'CREATE TABLE items (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT' }],
  postgres: [],
  citus: [],
}

const INSERT_MANY = `
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
  INSERT INTO items (text) SELECT printf('%.*c', ${MIB / 2}, 'x') FROM n`
const INSERT = "INSERT INTO items (text) VALUES ('short')"

test('the log of a long transaction is copied before the next write, while the event loop turns', async () => {
  await using shop = await openShop()
  using turns = countTurns(shop.isCopying)
  const bulk = store(shop.database, 300)
  const write = shop.database.write(() => ({ logBytes: shop.logBytes() }))
  await bulk
  expect(turns.count()).toBeGreaterThan(TURNS_MIN)
  expect(await write).toEqual({ logBytes: 0 })
  expect(statSync(shop.file).size).toBeGreaterThan(150 * MIB)
})

test('a long log that somebody reads is copied later, while the event loop turns and writes go on', async () => {
  await using shop = await openShop()
  const insert = shop.database.prepare(INSERT)
  using reader = new Database(shop.file)
  reader.run('BEGIN')
  reader.run('SELECT count(*) FROM items')
  {
    using copies = spyOn(Thread.prototype, 'all')
    await store(shop.database, 300)
    const tried = copies.mock.calls.map(([sql]) => sql)
    // The others take the write lock.
    expect(tried.filter(sql => sql.includes('checkpoint'))).toEqual(['PRAGMA wal_checkpoint(PASSIVE)'])
    const { now } = performance
    using _ = spyOn(performance, 'now').mockReturnValue(now.call(performance))
    for (let writes = 0; writes < 3; writes += 1) await shop.database.write(() => insert.run())
    // Not after each commit.
    expect(copies).toHaveBeenCalledTimes(tried.length)
  }
  expect(shop.logBytes()).toBeGreaterThan(150 * MIB)
  reader.run('COMMIT')
  using turns = countTurns(shop.isCopying)
  await until(async () => {
    await shop.database.write(() => insert.run())
    return shop.logBytes() < MIB
  })
  expect(turns.count()).toBeGreaterThan(TURNS_MIN)
  expect(statSync(shop.file).size).toBeGreaterThan(150 * MIB)
})

test('a close waits for the thread that copies the log', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  const database = await openSqlite(file, [ITEMS])
  const insert = database.prepare<[number]>(INSERT_MANY)
  using copies = spyOn(Thread.prototype, 'all')
  while (copies.mock.calls.length === 0) await database.write(() => insert.run(2))
  await database[Symbol.asyncDispose]()
  expect(copies.mock.lastCall).toEqual(['PRAGMA wal_checkpoint(RESTART)'])
  expect(existsSync(`${file}-wal`)).toBe(false)
  expect(statSync(file).size).toBeGreaterThan(15 * MIB)
})

test('a log of which the disk has lost a part is not copied while the file is open', async () => {
  await using shop = await openShop()
  const statements: string[] = []
  const known = spyOn(FileCondition.prototype, 'findDamage')
  using _ = known
  using __ = spyOn(Thread.prototype, 'all').mockImplementation(async sql => {
    statements.push(sql)
    // Another process has found it just now.
    known.mockReturnValue(new DatabaseDamagedError('its log could not be stored'))
    return []
  })
  await store(shop.database, 140)
  expect(statements.length).toBeGreaterThan(0)
  expect(statements.filter(sql => sql.includes('checkpoint'))).toEqual([])
})

test('a thread that copies the log does not close the file if it was replaced meanwhile', async () => {
  await using shop = await openShop()
  const away = `${shop.file}.away`
  using closed = spyOn(Thread.prototype, 'close')
  const all = spyOn(Thread.prototype, 'all')
  using _ = all
  all.mockImplementation(async () => {
    if (existsSync(shop.file)) renameSync(shop.file, away)
    return []
  })
  await store(shop.database, 140)
  expect(all).toHaveBeenCalled()
  // Its log would go into the other file.
  expect(closed).not.toHaveBeenCalled()
  renameSync(away, shop.file)
})

test('what is committed during a copy is copied while writes go on, too, before they wait for the rest', async () => {
  await using shop = await openShop()
  const insert = shop.database.prepare<[number]>(INSERT_MANY)
  const meanwhile = [24, 12, 1]
  using steps = watchSteps(shop, () => insert.run(meanwhile.shift() ?? 0))
  while (!steps.haveBegun()) await shop.database.write(() => insert.run(2))
  await until(() => steps.all.includes('RESTART'))
  expect(steps.all).toEqual(['PASSIVE', 'PASSIVE', 'PASSIVE', 'RESTART'])
})

test('if more is committed during a copy than during the one before, writes wait for the rest', async () => {
  await using shop = await openShop()
  const insert = shop.database.prepare<[number]>(INSERT_MANY)
  const meanwhile = [12, 24]
  using steps = watchSteps(shop, () => insert.run(meanwhile.shift() ?? 0))
  while (!steps.haveBegun()) await shop.database.write(() => insert.run(2))
  await until(() => steps.all.includes('RESTART'))
  expect(steps.all).toEqual(['PASSIVE', 'PASSIVE', 'RESTART'])
})

test('writes go on while what a thread has committed is copied', async () => {
  await using shop = await openShop()
  const insert = shop.database.prepare<[number]>(INSERT_MANY)
  using steps = watchSteps(shop, () => insert.run(1))
  await shop.database.writeStepsBeside(function* () {
    yield* rowsOf(INSERT_MANY, [[40]])
    return true
  })
  await until(() => steps.all.length > 1)
  expect(steps.all).toEqual(['PASSIVE', 'RESTART'])
})

test('writes wait for the rest of a copy for longer than for another program', async () => {
  await using shop = await openShop()
  const insert = shop.database.prepare<[number]>(INSERT_MANY)
  let write: Promise<unknown> | null = null
  using steps = watchSteps(
    shop,
    () => {},
    async () => {
      // As if the disk still stored the rest.
      using slow = new Database(shop.file)
      slow.run('BEGIN IMMEDIATE')
      write ??= shop.database.write(() => insert.run(1))
      await wait(POLLED_MS)
      const late = performance.now() + 15_000
      using _ = spyOn(performance, 'now').mockReturnValue(late)
      await wait(POLLED_MS)
      slow.run('COMMIT')
    },
  )
  while (!steps.haveBegun()) await shop.database.write(() => insert.run(2))
  await until(() => write !== null)
  await write
  expect(steps.all).toEqual(['PASSIVE', 'RESTART'])
})

test('if the thread that copies the log ends, another one copies it later', async () => {
  await using shop = await openShop()
  const insert = shop.database.prepare(INSERT)
  using copies = spyOn(Thread.prototype, 'all')
  copies.mockImplementationOnce(async function (this: Thread) {
    const error = new DatabaseUnavailableError('a statement took too long')
    this.end(error)
    throw error
  })
  await store(shop.database, 140)
  expect(shop.logBytes()).toBeGreaterThan(64 * MIB)
  await until(async () => {
    await shop.database.write(() => insert.run())
    return shop.logBytes() < MIB
  })
})

test('a copy may take longer than a read', async () => {
  await using shop = await openShop()
  const { all } = Thread.prototype
  using ended = spyOn(Thread.prototype, 'end')
  using copies = spyOn(Thread.prototype, 'all').mockImplementation(async function (this: Thread, sql, parameters) {
    jest.useFakeTimers()
    const rows = all.call(this, sql, parameters)
    jest.advanceTimersByTime(LONG_MS)
    jest.useRealTimers()
    return rows
  })
  await store(shop.database, 140)
  expect(copies.mock.lastCall).toEqual(['PRAGMA wal_checkpoint(TRUNCATE)'])
  expect(ended).not.toHaveBeenCalled()
  expect(shop.logBytes()).toBe(0)
})

test('the log of many commits begins again and again', async () => {
  await using shop = await openShop()
  const insert = shop.database.prepare<[number]>(INSERT_MANY)
  using copies = spyOn(Thread.prototype, 'all')
  await shop.database.write(() => insert.run(2))
  expect(copies).not.toHaveBeenCalled()
  // Nothing gets into the file but by copies of the log.
  while (statSync(shop.file).size < 100 * MIB) await shop.database.write(() => insert.run(2))
  expect(shop.logBytes()).toBeLessThan(70 * MIB)
})

/** Stores rows of half a MiB in one long transaction. */
function store(database: SqliteDatabase, rows: number): Promise<void> {
  return database.bulk('writing', async transaction => {
    transaction.prepare<[number]>(INSERT_MANY).run(rows)
  })
}

/** Notes each step of the copies. Writes with `meanwhile` during each that writes do not wait for; `last` runs before the others end. */
function watchSteps(shop: Shop, meanwhile: () => unknown, last = async () => {}) {
  const { all } = Thread.prototype
  const steps: string[] = []
  let haveBegun = false
  const spy = spyOn(Thread.prototype, 'all').mockImplementation(async function (this: Thread, sql, parameters) {
    haveBegun = true
    const step = /checkpoint\((?<mode>\w+)\)/.exec(sql)?.groups?.mode
    if (step === undefined) return all.call(this, sql, parameters)
    // Otherwise the log would begin again with the next write.
    using reader = new Database(shop.file)
    reader.run('BEGIN')
    if (step === 'PASSIVE') reader.run('SELECT count(*) FROM items')
    const rows = await all.call(this, sql, parameters)
    steps.push(step)
    await (step === 'PASSIVE' ? shop.database.write(meanwhile) : last())
    return rows
  })
  return { all: steps, haveBegun: () => haveBegun, [Symbol.dispose]: () => spy.mockRestore() }
}

interface Shop extends AsyncDisposable {
  readonly database: SqliteDatabase
  readonly file: string
  readonly logBytes: () => number
  /** Whether the database file contains rows, and the log does, too. */
  readonly isCopying: () => boolean
}

async function openShop(): Promise<Shop> {
  const open = new AsyncDisposableStack()
  const file = join(open.use(temporaryFolder()).path, 'shop.db')
  const database = open.use(await openSqlite(file, [ITEMS]))
  const logBytes = () => statSync(`${file}-wal`).size
  return {
    database,
    file,
    logBytes,
    isCopying: () => statSync(file).size > MIB && logBytes() > MIB,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
