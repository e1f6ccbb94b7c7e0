import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, spyOn, test } from 'bun:test'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { z } from 'zod'
import { EventFollower } from '../../../test/harness/catalog/follower.ts'
import { manualClock } from '../../../test/harness/manual-clock.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startShop } from '../../../test/harness/shop.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../clock.ts'
import { errorResponse } from '../../server/errors.ts'
import { DatabaseDamagedError } from '../errors.ts'
import { FileCondition } from './condition.ts'
import type { SqliteDatabase } from './database.ts'
import { openSqlite } from './open.ts'

setDefaultTimeout(120_000)

const WRITES = 48
const READERS = 8

/** On a loaded machine, a group may be over its time after a few writes. */
const TRIALS = 10

/** Keeps SQLite busy for some milliseconds: a quarter of the time that a group may take if nobody reads. */
const SLOWLY = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) SELECT max(i) FROM n'

/** Written this often, it makes the average sync too slow to block the event loop, on most disks. */
const LARGE = 'x'.repeat(4_194_304)
const LARGE_WRITES = 4

const Product = z.object({ id: z.int(), name: z.string() })
const Products = z.array(Product)

test('a write that the database refuses fails alone, and the writes of its group are made once', async () => {
  await using shop = await startShop({ flags: ['--access-log', 'off'] })
  const { api, file } = shop
  const kept = await api.create('/products/', { ...sample.product, name: 'Kept' })
  {
    using database = new Database(file)
    const refuse = "WHEN new.name LIKE 'Refused%' BEGIN SELECT raise(ABORT, 'refused'); END"
    database.run(`CREATE TRIGGER refuse_inserts AFTER INSERT ON products ${refuse}`)
    database.run(`CREATE TRIGGER refuse_updates AFTER UPDATE ON products ${refuse}`)
  }
  const names = Array.from({ length: WRITES }, (_, place) => `${place % 5 === 3 ? 'Refused' : 'Taken'} ${place}`)
  const [update, ...creates] = await Promise.all([
    api.put(`/products/${kept}`, { ...sample.product, name: 'Refused' }),
    ...names.map(name => api.post('/products/', { ...sample.product, name })),
  ])
  expect(update.status).toBe(500)
  expect(creates.map(({ status }) => status)).toEqual(names.map(name => (name.startsWith('Refused') ? 500 : 200)))
  const taken = creates.flatMap(({ status, body }) => (status === 200 ? [Product.parse(body)] : []))
  const stored = Products.parse((await api.get('/products/')).body)
  expect(stored).toEqual([{ id: kept, name: 'Kept' }, ...taken.toSorted((one, next) => one.id - next.id)])
})

test('a write that only the commit refuses fails alone, and the writes of its group are made once', async () => {
  await using shop = await startShop({ flags: ['--access-log', 'off'] })
  const { api, file, service } = shop
  const ordered = await api.create('/products/', { ...sample.product, name: 'Kept' })
  {
    using database = new Database(file)
    const reference = 'REFERENCES products (id) DEFERRABLE INITIALLY DEFERRED'
    database.run(`CREATE TABLE orders (product_id INTEGER NOT NULL ${reference})`)
    database.run(`INSERT INTO orders VALUES (${ordered})`)
  }
  const create = (_: unknown, place: number) => api.post('/products/', { ...sample.product, name: `Taken ${place}` })
  const creating = Array.from({ length: WRITES }, create)
  // All but the first creates are in one group.
  expect((await api.delete(`/products/${ordered}`)).status).toBe(500)
  const creates = await Promise.all(creating)
  expect(creates.map(({ status }) => status)).toEqual(Array(WRITES).fill(200))
  const taken = creates.map(({ body }) => Product.parse(body))
  const stored = Products.parse((await api.get('/products/')).body)
  expect(stored).toEqual([{ id: ordered, name: 'Kept' }, ...taken.toSorted((one, next) => one.id - next.id)])
  await service.stop()
  expect(service.errors()).toContain('FOREIGN KEY constraint failed')
})

test('a write that was refused is not made later, when the commit of its group is refused and the others are tried again', async () => {
  await until(async () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'shop.db')
    await using database = await openSqlite(file, [])
    {
      using other = new Database(file)
      other.run('CREATE TABLE goods (name TEXT PRIMARY KEY) STRICT')
      other.run("INSERT INTO goods VALUES ('Spade'), ('Rake')")
      other.run('CREATE TABLE labels (name TEXT REFERENCES goods (name) DEFERRABLE INITIALLY DEFERRED)')
      other.run("INSERT INTO labels VALUES ('Spade')")
    }
    let runs = 0
    const write = (sql: string) => database.write(() => database.prepare(sql).run())
    const outcomes = await Promise.allSettled([
      database.write(() => {
        runs += 1
        database.prepare("UPDATE goods SET name = 'Shovel' WHERE name = 'Spade'").run()
      }),
      write("INSERT INTO goods VALUES ('Shovel')"),
      write("INSERT INTO goods VALUES ('Hoe')"),
    ])
    // The machine paused amid them, and the first was a group of its own.
    if (runs === 1) return false
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
    using other = new Database(file)
    const names = other.query<{ name: string }, []>('SELECT name FROM goods ORDER BY name').all()
    expect(names.map(({ name }) => name)).toEqual(['Hoe', 'Rake', 'Spade'])
    return true
  })
})

test('followers are told of no delete that the database refuses', async () => {
  await using shop = await startShop({ flags: ['--access-log', 'off'] })
  const { api, file, service } = shop
  const ordered = await api.create('/products/', sample.product)
  {
    using database = new Database(file)
    database.run('CREATE TABLE orders (product_id INTEGER NOT NULL REFERENCES products (id))')
    database.run(`INSERT INTO orders VALUES (${ordered})`)
  }
  await using follower = await EventFollower.at(service.address)
  expect((await api.delete(`/products/${ordered}`)).status).toBe(500)
  await api.create('/categories/', sample.category)
  await follower.count(1)
  expect(follower.events).toMatchObject([{ data: { subject: '/categories/1' } }])
  expect((await api.get(`/products/${ordered}`)).status).toBe(200)
})

test('while others read, slow writes are committed a few at a time, with reads in between', async () => {
  await using shop = await startShop({ flags: ['--access-log', 'off'] })
  const { api, file } = shop
  const id = await api.create('/products/', sample.product)
  using database = new Database(file)
  database.run(`CREATE TRIGGER slowly AFTER INSERT ON products BEGIN ${SLOWLY}; END`)
  const commits = database.query<{ count: number }, []>('SELECT count(*) AS count FROM change_log')
  const before = commits.get()?.count ?? 0
  const writes = Promise.all(Array.from({ length: WRITES }, () => api.create('/products/', sample.product)))
  let areWritten = false
  const readers = Array.from({ length: READERS }, async () => {
    while (!areWritten) expect((await api.get(`/products/${id}`)).status).toBe(200)
  })
  expect(new Set(await writes).size).toBe(WRITES)
  areWritten = true
  await Promise.all(readers)
  expect((commits.get()?.count ?? 0) - before).toBeGreaterThan(WRITES / 2)
})

test('writes are refused, and not tried forever, when the log of changes cannot be read', async () => {
  await using shop = await startShop({ flags: ['--access-log', 'off'] })
  const { api, file } = shop
  await api.create('/products/', sample.product)
  {
    using database = new Database(file)
    database.run('DROP TABLE change_log')
  }
  const refused = await api.post('/products/', sample.product)
  expect([refused.status, refused.body]).toEqual([500, { detail: 'Internal Server Error' }])
  expect((await api.get('/healthz')).status).toBe(200)
})

test('while others read, a group is acknowledged in several turns of the event loop, otherwise in one', async () => {
  using folder = temporaryFolder()
  await using database = await openSqlite(join(folder.path, 'shop.db'), [])
  const amongReads: number[] = []
  const alone: number[] = []
  for (let trial = 0; trial < TRIALS; trial += 1) {
    database.snapshot(() => {})
    amongReads.push(await turnsOfAcknowledgement(database))
    alone.push(await turnsOfAcknowledgement(database))
  }
  expect(Math.max(...amongReads)).toBeGreaterThan(WRITES / 10)
  expect(Math.min(...alone)).toBe(1)
})

test('a write waits for a long transaction of its process for at most 30 s, and is then refused with 503', async () => {
  using folder = temporaryFolder()
  await using database = await openSqlite(join(folder.path, 'shop.db'), [])
  const written: string[] = []
  const write = (name: string) => database.write(() => written.push(name))
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
  const long = database.bulk('writing', () => mayEnd)
  using clock = movableClock()
  const early = write('early').catch((error: unknown) => error)
  clock.advance(15_000)
  const late = write('late')
  clock.advance(16_000)
  const refused = errorResponse(await early, 'request')
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([503, '1'])
  end()
  await Promise.all([long, late])
  expect(written).toEqual(['late'])
})

test('a write that has waited for a long transaction of its process waits for the lock of another program, too', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await using database = await openSqlite(file, [])
  using other = new Database(file)
  // A group begins after a turn of the event loop.
  const meetsLock = async () => {
    for (let turns = 0; turns < 20; turns += 1) await turn()
  }
  const [begun, ending] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  using clock = movableClock()
  other.run('BEGIN IMMEDIATE')
  const written = database.write(() => 'written').catch((error: unknown) => error)
  await meetsLock()
  const long = database.bulk('writing', () => {
    begun.resolve()
    return ending.promise
  })
  other.run('ROLLBACK')
  await begun.promise
  clock.advance(15_000)
  ending.resolve()
  await long
  other.run('BEGIN IMMEDIATE')
  await meetsLock()
  other.run('ROLLBACK')
  expect(await written).toBe('written')
})

test('a long transaction waits for another one of its process for at most 100 s, and is then refused with 503', async () => {
  using folder = temporaryFolder()
  await using database = await openSqlite(join(folder.path, 'shop.db'), [])
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
  const long = database.bulk('writing', () => mayEnd)
  const clock = manualClock()
  using _ = spyOn(systemClock, 'after').mockImplementation(clock.after)
  const waiting = database.bulk('writing', async () => 'stored').catch((error: unknown) => error)
  clock.advance(100_000)
  end()
  await long
  expect(errorResponse(await waiting, 'request').status).toBe(503)
  expect(await database.write(() => 'stored')).toBe('stored')
})

test('a long transaction is not acknowledged if another process finds during its commit that the disk lost a part of the log', async () => {
  using folder = temporaryFolder()
  await using database = await openSqlite(join(folder.path, 'shop.db'), [])
  using lost = spyOn(FileCondition.prototype, 'findDamage').mockReturnValue(
    new DatabaseDamagedError('its log could not be stored'),
  )
  // At its beginning and before its commit, nobody knows.
  lost.mockReturnValueOnce(null).mockReturnValueOnce(null)
  await expect(database.bulk('writing', async () => {})).rejects.toThrow(DatabaseDamagedError)
  expect(lost).toHaveBeenCalledTimes(3)
})

test('a database that is closed while a group is acknowledged finishes the writes that wait behind it', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  const database = await openSqlite(file, [])
  await database.write(() => database.prepare('CREATE TABLE notes (text TEXT) STRICT').run())
  const insert = database.prepare<[text: string]>('INSERT INTO notes VALUES (?)')
  database.snapshot(() => {})
  const first = Array.from({ length: WRITES }, () => database.write(() => insert.run('first')))
  await first[0]
  let isWritten = false
  const last = database
    .write(() => insert.run('last'))
    .then(() => {
      isWritten = true
    })
  await database[Symbol.asyncDispose]()
  expect(isWritten).toBe(true)
  await Promise.all([...first, last])
  using copy = new Database(file)
  expect(copy.query('SELECT text, count(*) AS count FROM notes GROUP BY text').all()).toEqual([
    { text: 'first', count: WRITES },
    { text: 'last', count: 1 },
  ])
})

test('a database that is closed while the disk stores a commit answers its writes as stored', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  const database = await openSqlite(file, [])
  await database.write(() => database.prepare('CREATE TABLE notes (text TEXT) STRICT').run())
  const insert = database.prepare<[text: string]>('INSERT INTO notes VALUES (?)')
  // Shows that the disk is slow, so that another thread waits for it.
  for (let count = 0; count < LARGE_WRITES; count += 1) await database.write(() => insert.run(LARGE))
  const written = database.write(() => insert.run(LARGE)).then(() => 'stored')
  await until(() => database.figures.waiting === 0)
  await database[Symbol.asyncDispose]()
  expect(await written).toBe('stored')
  using copy = new Database(file)
  expect(copy.query('SELECT count(*) AS count FROM notes').get()).toEqual({ count: LARGE_WRITES + 1 })
})

/** In how many turns of the event loop the writes of one group are acknowledged. */
async function turnsOfAcknowledgement(database: SqliteDatabase): Promise<number> {
  const turns = new Set<number>()
  let turn = 0
  let isOver = false
  const count = () => {
    turn += 1
    if (!isOver) setImmediate(count)
  }
  count()
  await Promise.all(Array.from({ length: WRITES }, () => database.write(() => {}).then(() => turns.add(turn))))
  isOver = true
  return turns.size
}

interface MovableClock extends Disposable {
  readonly advance: (ms: number) => void
}

/** From now on, `performance.now()` is ahead of the time. */
function movableClock(): MovableClock {
  const { now } = performance
  let aheadMs = 0
  performance.now = () => now.call(performance) + aheadMs
  return {
    advance: ms => {
      aheadMs += ms
    },
    [Symbol.dispose]: () => {
      performance.now = now
    },
  }
}
