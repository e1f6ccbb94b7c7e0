import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { lines, NDJSON, postKeyed } from '../../../../test/harness/catalog/keyed.ts'
import { bearer, revokeKey, startKeyedShop } from '../../../../test/harness/catalog/keyed-shop.ts'
import { listOf } from '../../../../test/harness/catalog/resources.ts'
import { type Client, client } from '../../../../test/harness/client.ts'
import { QUICK_HASHES, withEachEngine } from '../../../../test/harness/contract.ts'
import { copied } from '../../../../test/harness/copy/copied.ts'
import { ENGINES, type Engine, sqlite } from '../../../../test/harness/engines.ts'
import { connected } from '../../../../test/harness/postgres/database.ts'
import { sample } from '../../../../test/harness/samples.ts'
import { run, startService } from '../../../../test/harness/service.ts'
import { storeKey } from '../../../../test/harness/stored-keys.ts'
import { temporaryFolder } from '../../../../test/harness/temporary-folder.ts'
import { until } from '../../../../test/harness/until.ts'
import { openSqlite } from '../../../database/sqlite/open.ts'
import { catalogMigrations } from '../../migrations/index.ts'
import { sqliteKeyStore, sqliteKeys } from '../sqlite/keys.ts'

setDefaultTimeout(120_000)

const DAY_MS = 86_400_000
const KEY = '8e03978e-40d5-43e8-bc93-6894a57f9324'
const PRODUCT = { key: KEY, path: '/products/', body: sample.product }
const LINE = { ...PRODUCT, body: lines(sample.product), type: NDJSON }

const FLAGS = ['--access-log', 'off']
const SURROUNDINGS = { flags: FLAGS, environment: QUICK_HASHES }

const ROUNDS = 10

/** Requests without a key, some of which share a statement with those that have one. */
const BESIDE = Array.from({ length: 6 }, (_, place) => place)

/** More than is deleted at once. */
const EXPIRED_KEYS = 300

/** Room for some ten answers. */
const FEW_BYTES = 4_000

/** Each takes more. */
const ANSWER_MIN_BYTES = 256

withEachEngine('kept answers', engine => {
  describe('through two processes', () => {
    let open: AsyncDisposableStack
    let url: string
    let one: Client
    let other: Client
    beforeAll(async () => {
      open = new AsyncDisposableStack()
      url = open.use(await engine.freshDatabase()).url
      const [first, second] = [
        open.use(await startService(url, SURROUNDINGS)),
        open.use(await startService(url, SURROUNDINGS)),
      ]
      one = client(() => first.address)
      other = client(() => second.address)
    })
    afterAll(() => open.disposeAsync())

    test('another process gives the first answer, at the same time or after a restart', async () => {
      const first = await postKeyed(one, PRODUCT)
      expect(await postKeyed(other, PRODUCT)).toMatchObject({ text: first.text, isReplayed: true })
      await served(url, async api => {
        expect(await postKeyed(api, PRODUCT)).toMatchObject({ text: first.text, isReplayed: true })
      })
    })

    test('of simultaneous requests with one key, one creates something, and none fails', async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const sent = round % 4 === 0 ? { body: lines(sample.category), type: NDJSON } : { body: sample.category }
        const request = { ...sent, path: '/categories/', key: `round-${round}` }
        const others = BESIDE.map(place => (place % 2 === 0 ? one : other).create('/categories/', sample.category))
        const answers = await Promise.all([one, other, one, other].map(api => postKeyed(api, request)))
        expect(new Set(await Promise.all(others)).size).toBe(BESIDE.length)
        expect(answers.filter(({ status, isReplayed }) => status === 200 && !isReplayed)).toHaveLength(1)
        for (const { status } of answers) expect([200, 409]).toContain(status)
        expect(new Set(answers.filter(({ status }) => status === 200).map(({ text }) => text)).size).toBe(1)
        expect(await listOf(one, '/categories/?limit=1000')).toHaveLength((round + 1) * (1 + BESIDE.length))
      }
    })

    test('another process gives the first answer even if what the request refers to is deleted in the same moment', async () => {
      const age = (sign: '+' | '-') => `UPDATE idempotency_keys SET created_at = created_at ${sign} ${DAY_MS}`
      for (const type of ['application/json', NDJSON]) {
        const product_id = await one.create('/products/', sample.product)
        const user_id = await one.create('/users/', sample.user)
        const review = { product_id, user_id, rating: 5, comment: 'soon gone' }
        const body = type === NDJSON ? lines(review) : review
        const request = { key: `gone-${product_id}`, path: '/reviews/', body, type }
        const first = await postKeyed(one, request)
        expect(first.status).toBe(200)
        await change(engine, url, age('-'))
        const gone = `${age('+')}; DELETE FROM reviews; DELETE FROM products`
        const again = await whileChanging(engine, url, gone, async () => {
          const answer = postKeyed(other, request)
          // By then it has looked for the key in vain.
          for (let count = 0; count < 20; count += 1) await other.get('/healthz')
          return { answer }
        })
        expect(await again.answer).toMatchObject({ text: first.text, isReplayed: true })
      }
    })

    test('neither the key nor a password is in the database, and equal requests look different there', async () => {
      const users = [`${KEY}-one`, `${KEY}-other`].map(key => ({ key, path: '/users/', body: sample.user }))
      const before = new Set((await keptIn(engine, url)).map(({ key }) => key))
      for (const user of users) {
        const { status, text } = await postKeyed(one, user)
        expect(status).toBe(200)
        expect(text).not.toContain(sample.user.password)
      }
      const everything = await engine.everything(url)
      expect(everything).not.toContain(KEY)
      expect(everything).not.toContain(sample.user.password)
      const rows = (await keptIn(engine, url)).filter(({ key }) => !before.has(key))
      expect(new Set(rows.flatMap(({ key, fingerprint }) => [key, fingerprint])).size).toBe(4)
    })
  })

  test('after 24 hours a key is new again, and what was kept is deleted', async () => {
    await using database = await engine.freshDatabase()
    await served(database.url, async api => {
      const keys = Array.from({ length: EXPIRED_KEYS }, (_, place) => `key-${place}`)
      await Promise.all(
        keys.map(key => postKeyed(api, { ...PRODUCT, path: '/categories/', body: sample.category, key })),
      )
      await postKeyed(api, PRODUCT)
      await change(engine, database.url, `UPDATE idempotency_keys SET created_at = created_at - ${DAY_MS}`)
      const again = await postKeyed(api, PRODUCT)
      expect(again).toMatchObject({ status: 200, isReplayed: false })
      expect(await postKeyed(api, PRODUCT)).toMatchObject({ text: again.text, isReplayed: true })
      expect(await listOf(api, '/products/')).toHaveLength(2)
    })
    // They are deleted once a minute, the first time at the start.
    await served(database.url, () => until(async () => (await keptIn(engine, database.url)).length === 1))
  })

  test('beyond the limit new keys get 503, known ones their answers, and requests without a key are served', async () => {
    await using database = await engine.freshDatabase()
    await served(
      database.url,
      async api => {
        const first = await postKeyed(api, PRODUCT)
        const { created, refused } = await postUntilRefused(api, PRODUCT)
        expect(created).toBeGreaterThan(5)
        expect({ status: refused.status, retryAfter: refused.headers.get('Retry-After') }).toEqual({
          status: 503,
          retryAfter: '60',
        })
        expect(JSON.parse(refused.text)).toEqual({ detail: expect.stringContaining('idempotency keys') })
        expect(await postKeyed(api, PRODUCT)).toMatchObject({ text: first.text, isReplayed: true })
        expect((await api.post('/products/', sample.product)).status).toBe(200)
        expect(await listOf(api, '/products/?limit=1000')).toHaveLength(created + 2)
      },
      ['--idempotency-bytes', String(FEW_BYTES)],
    )
    await served(database.url, async api => {
      expect((await postKeyed(api, { ...PRODUCT, key: 'another' })).status).toBe(200)
    })
  })

  test('a process notices soon that others have reached the limit', async () => {
    await using database = await engine.freshDatabase()
    const flags = ['--idempotency-bytes', String(FEW_BYTES)]
    await served(
      database.url,
      one =>
        served(
          database.url,
          async other => {
            expect((await postKeyed(other, { ...PRODUCT, key: 'first' })).status).toBe(200)
            await postUntilRefused(one, PRODUCT)
            expect((await postKeyed(other, { ...PRODUCT, key: 'second' })).status).toBe(503)
          },
          flags,
        ),
      flags,
    )
  })

  test('the answers to posted lines count towards the limit, too', async () => {
    await using database = await engine.freshDatabase()
    await served(
      database.url,
      async api => {
        const { created, refused } = await postUntilRefused(api, LINE)
        expect(refused.status).toBe(503)
        expect(await listOf(api, '/products/?limit=1000')).toHaveLength(created)
      },
      ['--idempotency-bytes', String(FEW_BYTES)],
    )
  })

  test('answers that were kept before the clock was set back count towards the limit, too', async () => {
    await using database = await engine.freshDatabase()
    const few = ['--idempotency-bytes', String(FEW_BYTES)]
    await served(database.url, api => postUntilRefused(api, PRODUCT), few)
    await change(engine, database.url, `UPDATE idempotency_keys SET created_at = created_at + ${DAY_MS / 2}`)
    await served(
      database.url,
      async api => {
        expect((await postKeyed(api, { ...PRODUCT, key: 'another' })).status).toBe(503)
        expect(await postKeyed(api, { ...PRODUCT, key: 'key-0' })).toMatchObject({ status: 200, isReplayed: true })
      },
      few,
    )
  })

  describe('after a copy', () => {
    let from: AsyncDisposable & { readonly url: string }
    let first: Awaited<ReturnType<typeof postKeyed>>
    beforeAll(async () => {
      from = await engine.freshDatabase()
      first = await served(from.url, api => postKeyed(api, PRODUCT))
    })
    afterAll(() => from[Symbol.asyncDispose]())

    for (const target of ENGINES) {
      test(`to ${target.name}, a service gives the first answers, and repeats nothing`, async () => {
        await using to = await target.freshDatabase()
        await copied(from.url, to.url)
        await served(to.url, async api => {
          expect(await postKeyed(api, PRODUCT)).toMatchObject({ text: first.text, isReplayed: true })
          expect((await postKeyed(api, { ...PRODUCT, body: { ...sample.product, price: 1 } })).status).toBe(422)
          expect(await listOf(api, '/products/')).toHaveLength(1)
        })
      })
    }
  })
})

describe('kept answers on SQLite', () => {
  test('with access keys, each of them has idempotency keys of its own, and a revoked one gets no answer again', async () => {
    await using shop = await startKeyedShop(sqlite)
    const { url, api, keys } = shop
    const as = (secret: string) => postKeyed(api.without, { ...PRODUCT, headers: bearer(secret) })
    const [writer, owner] = [await as(keys.write), await as(keys.admin)]
    expect([writer, owner].map(({ status, isReplayed }) => ({ status, isReplayed }))).toEqual([
      { status: 200, isReplayed: false },
      { status: 200, isReplayed: false },
    ])
    expect(await as(keys.write)).toMatchObject({ text: writer.text, isReplayed: true })
    expect(await as(keys.admin)).toMatchObject({ text: owner.text, isReplayed: true })
    expect((await as(keys.read)).status).toBe(403)
    await revokeKey(url, 'writer')
    await until(async () => (await as(keys.write)).status === 401)
    // A key that takes the place of another one, under its name.
    const renewed = await storeKey(url, 'writer', 'write')
    await until(async () => (await as(renewed)).status === 200)
    expect(await as(renewed)).toMatchObject({ text: writer.text, isReplayed: true })
  })

  test('a restored backup gives the first answers, and repeats nothing', async () => {
    await using database = await sqlite.freshDatabase()
    using folder = temporaryFolder()
    const file = join(folder.path, 'backup.db')
    const first = await served(database.url, api => postKeyed(api, PRODUCT))
    expect(await run(['backup', file, '--database', database.url])).toMatchObject({ status: 0 })
    await served(`sqlite:${file}`, async api => {
      expect(await postKeyed(api, PRODUCT)).toMatchObject({ text: first.text, isReplayed: true })
    })
  })
})

test('on SQLite, the answer of another process is on the disk before it is given again', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'shop.db')
  await using database = await openSqlite(path, [catalogMigrations])
  const store = sqliteKeyStore(database, sqliteKeys(database))
  const syncs = () => database.figures.syncSeconds.counts.reduce((sum, count) => sum + count, 0)
  using other = new Database(path)
  other.run('PRAGMA synchronous = OFF')
  other.run("INSERT INTO idempotency_keys VALUES ('key', 'fingerprint', ?, 1, '{}', 1)", [Date.now()])
  const before = syncs()
  expect(await store.find('key')).toMatchObject({ answer: '{}' })
  expect(syncs()).toBe(before + 1)
})

/** Runs `work` against a service on the database. */
async function served<Result>(url: string, work: (api: Client) => Promise<Result>, flags: readonly string[] = []) {
  await using service = await startService(url, { flags: [...FLAGS, ...flags] })
  return await work(client(() => service.address))
}

/** Posts with one key after the other until the limit must be reached. */
async function postUntilRefused(api: Client, request: typeof PRODUCT | typeof LINE) {
  for (let created = 0; ; created += 1) {
    const refused = await postKeyed(api, { ...request, key: `key-${created}` })
    if (refused.status !== 200 || created * ANSWER_MIN_BYTES > FEW_BYTES) return { created, refused }
  }
}

function keptIn(engine: Engine, url: string): Promise<{ key: string; fingerprint: string }[]> {
  return engine.read(url, 'SELECT key, fingerprint FROM idempotency_keys')
}

/** Changes the database past the service. */
async function change(engine: Engine, url: string, sql: string): Promise<void> {
  if (engine === sqlite) {
    using file = new Database(url.slice('sqlite:'.length))
    file.run('PRAGMA busy_timeout = 10000')
    file.run(sql)
    return
  }
  await using database = connected(url)
  await database.unsafe(sql)
}

/** Runs `work` while another program has made changes that it has not committed. */
async function whileChanging<Result>(engine: Engine, url: string, sql: string, work: () => Promise<Result>) {
  if (engine === sqlite) {
    using file = new Database(url.slice('sqlite:'.length))
    file.run(`BEGIN IMMEDIATE; ${sql}`)
    const result = await work()
    file.run('COMMIT')
    return result
  }
  await using database = connected(url)
  return await database.begin(async transaction => {
    await transaction.unsafe(sql)
    return await work()
  })
}
