import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { spawn } from 'bun'
import { z } from 'zod'
import { campaign } from '../../../test/harness/campaign.ts'
import { type Client, client } from '../../../test/harness/client.ts'
import { onEachEngine, QUICK_HASHES, withEachEngine } from '../../../test/harness/contract.ts'
import { copied } from '../../../test/harness/copy/copied.ts'
import { citus, ENGINES, postgres, sqlite } from '../../../test/harness/engines.ts'
import { connected } from '../../../test/harness/postgres/database.ts'
import { sample } from '../../../test/harness/samples.ts'
import { commandLine, run, type Service, startService, surroundingsOf } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { openDatabase } from '../../database/open.ts'
import { database as databaseSetting } from '../../database/settings.ts'
import { catalogMigrations } from '../migrations/index.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']
const NO_REVIEWS = { average: null, count: 0, histogram: [0, 0, 0, 0, 0], score: 0 }
const CLIENTS = 6
/** Each client does everything once. */
const STEPS = 20
const PRODUCTS = 5

/** An id that no test creates. */
const ABSENT_ID = 999_999

const Reviews = z.array(z.object({ id: z.int(), product_id: z.int(), rating: z.int() }))
const Created = z.object({ ids: z.array(z.int()) })

onEachEngine('the rating of a product', api => {
  test('has the mean, the number, the histogram and the score of its reviews, and each change of these at once', async () => {
    const [product, user] = await productAndUser(api)
    expect(await ratingOf(api, product)).toEqual(NO_REVIEWS)
    const reviews = []
    for (const rating of [3, 4, 4, 5, 5]) reviews.push(await review(api, product, user, rating))
    expect(await ratingOf(api, product)).toEqual({ average: 4.2, count: 5, histogram: [0, 0, 1, 2, 2], score: 3.6 })
    await api.patch(`/reviews/${reviews[0]}`, { ...sample.review(product, user), rating: 1 })
    expect(await ratingOf(api, product)).toEqual({ average: 19 / 5, count: 5, histogram: [1, 0, 0, 2, 2], score: 3.4 })
    await api.patch(`/reviews/${reviews[0]}`, { ...sample.review(product, user), rating: 1, comment: 'Broke' })
    expect(await ratingOf(api, product)).toEqual({ average: 19 / 5, count: 5, histogram: [1, 0, 0, 2, 2], score: 3.4 })
    for (const each of reviews) await api.delete(`/reviews/${each}`)
    expect(await ratingOf(api, product)).toEqual(NO_REVIEWS)
  })

  test('follows a review to another product', async () => {
    const [from, user] = await productAndUser(api)
    const [to] = await productAndUser(api)
    const moved = await review(api, from, user, 2)
    await api.patch(`/reviews/${moved}`, { ...sample.review(to, user), rating: 5 })
    expect(await ratingOf(api, from)).toEqual(NO_REVIEWS)
    expect(await ratingOf(api, to)).toEqual({ average: 5, count: 1, histogram: [0, 0, 0, 0, 1], score: 20 / 6 })
  })

  test('loses the reviews of a deleted user, of whom it may have more than are deleted at once', async () => {
    const [product, user] = await productAndUser(api)
    const [, other] = await productAndUser(api)
    await review(api, product, other, 1)
    await api.send('/reviews/', { method: 'POST', headers: NDJSON, body: lines(product, user, 130) })
    expect(await ratingOf(api, product)).toMatchObject({ count: 131, histogram: [1, 0, 0, 130, 0] })
    await api.delete(`/users/${user}`)
    expect(await ratingOf(api, product)).toEqual({ average: 1, count: 1, histogram: [1, 0, 0, 0, 0], score: 16 / 6 })
  })

  test('is not there without the product', async () => {
    const [product, user] = await productAndUser(api)
    await api.send('/reviews/', { method: 'POST', headers: NDJSON, body: lines(product, user, 130) })
    await api.delete(`/products/${product}`)
    for (const id of [product, 0, -1]) {
      const { status, body } = await api.get(`/ratings/products/${id}`)
      expect({ status, body }).toEqual({ status: 404, body: { detail: 'Product not found' } })
    }
    expect((await api.get('/ratings/products/one')).status).toBe(422)
  })

  test('has an ETag, which gets 304 until a review changes it', async () => {
    const [product, user] = await productAndUser(api)
    const path = `/ratings/products/${product}`
    const tag = (await api.get(path)).headers.get('ETag') ?? ''
    expect(tag).toMatch(/^"/)
    expect(await api.get(path, { 'If-None-Match': tag })).toMatchObject({ status: 304, body: '' })
    await review(api, product, user, 4)
    expect(await api.get(path, { 'If-None-Match': tag })).toMatchObject({ status: 200, body: { count: 1 } })
  })
})

withEachEngine('the ratings in a database', engine => {
  const open = new AsyncDisposableStack()
  const services: Service[] = []
  let url = ''
  const api = client(() => services[0]?.address ?? '')
  const nodes = [api, client(() => services[1]?.address ?? '')] as const
  beforeAll(async () => {
    const database = open.use(await engine.freshDatabase())
    url = database.url
    for (const _ of nodes) {
      services.push(open.use(await startService(url, { flags: FLAGS, environment: QUICK_HASHES })))
    }
  })
  afterAll(() => open.disposeAsync())

  // Distributed tables have no triggers to count it.
  test.skipIf(engine === citus)('count what another program creates, changes, moves and deletes', async () => {
    const [one, user] = await productAndUser(api)
    const [other] = await productAndUser(api)
    await review(api, one, user, 4)
    await using sql = connected(url)
    await sql`
      INSERT INTO reviews (product_id, user_id, rating, comment)
      VALUES (${one}, ${user}, 1, ''), (${other}, ${user}, 2, ''), (${one}, ${user}, 3, '')`
    expect(await histogramsOf(api, one, other)).toEqual([
      [1, 0, 1, 1, 0],
      [0, 1, 0, 0, 0],
    ])
    await sql`UPDATE reviews SET product_id = ${other}, rating = rating + 1 WHERE rating < 4 AND user_id = ${user}`
    expect(await histogramsOf(api, one, other)).toEqual([
      [0, 0, 0, 1, 0],
      [0, 1, 1, 1, 0],
    ])
    await sql`DELETE FROM reviews WHERE rating = 4 AND user_id = ${user}`
    expect(await histogramsOf(api, one, other)).toEqual([
      [0, 0, 0, 0, 0],
      [0, 1, 1, 0, 0],
    ])
    await sql`
      INSERT INTO reviews (id, product_id, user_id, rating, comment)
      SELECT id, ${one}, user_id, 5, comment FROM reviews WHERE user_id = ${user}
      ON CONFLICT (id) DO UPDATE SET product_id = excluded.product_id, rating = excluded.rating`
    expect(await histogramsOf(api, one, other)).toEqual([
      [0, 0, 0, 0, 2],
      [0, 0, 0, 0, 0],
    ])
    // PostgreSQL has a statement for it that deletes no single row.
    await sql.unsafe(engine.name === 'PostgreSQL' ? 'TRUNCATE reviews' : 'DELETE FROM reviews')
    expect(await ratingOf(api, one)).toEqual(NO_REVIEWS)
  })

  test('count the reviews of an import, of a sample and of a copy to another engine', async () => {
    await using database = await engine.freshDatabase()
    expect(await run(['seed', '--database', database.url, '--products', '40'])).toMatchObject({ status: 0 })
    using folder = temporaryFolder()
    // Enough for the indexes of an import to SQLite to be dropped, or for several statements on PostgreSQL.
    const ofEach = engine === sqlite ? 2_100 : 600
    const many = [1, 2, 3, 4, 5].flatMap(rating => Array(ofEach).fill(line(rating, 1, rating)))
    await Bun.write(join(folder.path, 'reviews.ndjson'), many.join(''))
    const imported = await run(['import', '--database', database.url, 'reviews.ndjson'], { folder: folder.path })
    expect(imported).toMatchObject({ status: 0 })
    const stored = await countedIn(engine, database.url)
    expect(stored.counted.length).toBeGreaterThan(5)
    expect(stored.kept).toEqual(stored.counted)
    const to = ENGINES[(ENGINES.indexOf(engine) + 1) % ENGINES.length] ?? engine
    await using target = await to.freshDatabase()
    await copied(database.url, target.url)
    expect((await countedIn(to, target.url)).kept, `to ${to.name}`).toEqual(stored.counted)
  })

  test('of an import keep the lines that are right, and count nothing if it fails', async () => {
    const [product, user] = await productAndUser(api)
    await review(api, product, user, 2)
    const before = (await countedIn(engine, url)).kept
    using folder = temporaryFolder()
    await Bun.write(
      join(folder.path, 'reviews.ndjson'),
      line(product, user, 5) + line(ABSENT_ID, user, 5) + line(product, user, 6),
    )
    const command = ['import', '--database', url, 'reviews.ndjson']
    expect(await run(command, { folder: folder.path })).toMatchObject({ status: 1 })
    expect((await countedIn(engine, url)).kept).toEqual(before)
    await run([...command, '--keep-good'], { folder: folder.path })
    expect(await histogramsOf(api, product)).toEqual([[0, 1, 0, 0, 1]])
    const after = await countedIn(engine, url)
    expect(after.kept).not.toEqual(before)
    expect(after.kept).toEqual(after.counted)
  })

  // No distributed database is so old.
  test.skipIf(engine === citus)('are filled when a database that has reviews is migrated', async () => {
    await using database = await engine.freshDatabase()
    const first = {
      ...catalogMigrations,
      sqlite: catalogMigrations.sqlite.slice(0, 1),
      postgres: catalogMigrations.postgres.slice(0, 1),
    }
    const address = databaseSetting.parse(database.url)
    {
      await using older = await openDatabase({ address }, [first])
      await older.ready
      await using sql = connected(database.url)
      await sql`INSERT INTO products (name, price, description) VALUES ('Spade', 1, ''), ('Rake', 1, ''), ('Hoe', 1, '')`
      await sql`
        INSERT INTO users (name, email, password_hash, is_active, is_admin, is_banned, is_blocked, is_deleted, is_suspended,
          is_verified, avatar) VALUES ('Ada', '', '', 1, 0, 0, 0, 0, 0, 0, '')`
      await sql`
        INSERT INTO reviews (product_id, user_id, rating, comment)
        VALUES (1, 1, 5, ''), (1, 1, 5, ''), (1, 1, 1, ''), (3, 1, 2, '')`
    }
    await using service = await startService(database.url, { flags: FLAGS })
    const api = client(() => service.address)
    expect(await histogramsOf(api, 1, 2, 3)).toEqual([
      [1, 0, 0, 0, 2],
      [0, 0, 0, 0, 0],
      [0, 1, 0, 0, 0],
    ])
    await api.delete('/reviews/1')
    expect(await histogramsOf(api, 1)).toEqual([[1, 0, 0, 0, 1]])
  })

  const changeRatingsAtOnce = async () => {
    const products: number[] = []
    for (let count = 0; count < PRODUCTS; count += 1) products.push(await nodes[0].create('/products/', sample.product))
    const statuses = new Map<number, number>()
    const clients = Array.from({ length: CLIENTS }, (_, place) => changeReviews(nodes, products, place, statuses))
    await Promise.all(clients)
    // Some meet a product or user that another client has just deleted, but none fails.
    expect([...statuses.keys()].filter(status => ![200, 404, 422].includes(status))).toEqual([])
    expect(statuses.get(200)).toBeGreaterThan(CLIENTS * STEPS * 0.5)
    const reviews = Reviews.parse((await nodes[0].get('/reviews/?limit=1000000')).body)
    expect(reviews.length).toBeGreaterThan(0)
    for (const product of products) {
      const stars = [1, 2, 3, 4, 5].map(
        stars => reviews.filter(({ product_id, rating }) => product_id === product && rating === stars).length,
      )
      expect(await histogramsOf(nodes[0], product)).toEqual([stars])
      expect(await histogramsOf(nodes[1], product)).toEqual([stars])
    }
    const { kept, counted } = await countedIn(engine, url)
    expect(kept).toEqual(counted)
    if (engine.name === 'PostgreSQL') {
      const deadlocks = 'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()'
      expect(await engine.read(url, deadlocks)).toEqual([{ deadlocks: 0 }])
    }
    for (const [writer, reader] of [nodes, nodes.toReversed()]) {
      if (!writer || !reader) continue
      const [product, user] = await productAndUser(writer)
      expect(await ratingOf(reader, product)).toEqual(NO_REVIEWS)
      await review(writer, product, user, 5)
      expect(await histogramsOf(reader, product)).toEqual([[0, 0, 0, 0, 1]])
      await writer.delete(`/users/${user}`)
      expect(await ratingOf(reader, product)).toEqual(NO_REVIEWS)
    }
    // Otherwise each round would take longer than the one before.
    for (const id of new Set([...products, ...reviews.map(({ product_id }) => product_id)])) {
      await api.delete(`/products/${id}`)
    }
  }

  campaign(
    'are exact after many clients of two processes have changed reviews at once, and each shows what the other wrote',
    async ({ rounds }) => {
      for (const _ of rounds(1)) await changeRatingsAtOnce()
    },
  )

  if (engine === postgres) {
    test('are not locked by an import that goes on for long, so nothing waits for it and nothing deadlocks with it', async () => {
      const [product, user] = await productAndUser(api)
      const [, leaving] = await productAndUser(api)
      const changed = await review(api, product, user, 1)
      await review(api, product, leaving, 2)
      const flags = ['--resource', 'reviews', '--format', 'ndjson', '--keep-good']
      const child = spawn(commandLine(['import', '--database', url, ...flags, '-'], {}), {
        ...surroundingsOf({}),
        stdin: 'pipe',
        stdout: 'ignore',
        stderr: 'pipe',
      })
      const errors = child.stderr.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
      // The wrong line is named when those before it are stored.
      child.stdin.write(`${line(product, user, 5).repeat(999)}{}\n`)
      await child.stdin.flush()
      expect((await errors.next()).value).toContain('1000')
      expect((await api.patch(`/reviews/${changed}`, { ...sample.review(product, user), rating: 3 })).status).toBe(200)
      expect((await api.delete(`/users/${leaving}`)).status).toBe(200)
      expect(await histogramsOf(api, product)).toEqual([[0, 0, 1, 0, 0]])
      child.stdin.write(line(product, leaving, 4) + line(product, user, 4))
      child.stdin.end()
      while (!(await errors.next()).done) {
        // Until its end.
      }
      await child.exited
      expect(await histogramsOf(api, product)).toEqual([[0, 0, 1, 1, 999]])
    })
  }
})

const NDJSON = { 'Content-Type': 'application/x-ndjson' }

/** One client: creates, changes, moves and deletes reviews, alone and in bulk, and deletes users and products with theirs. */
async function changeReviews(
  nodes: readonly Client[],
  products: readonly number[],
  place: number,
  statuses: Map<number, number>,
): Promise<void> {
  const api = nodes[place % nodes.length]
  if (!api) return
  const note = <Answer extends { readonly status: number }>(answer: Answer) => {
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    return answer
  }
  let user = await api.create('/users/', { ...sample.user, password: '' })
  let own = await api.create('/products/', sample.product)
  const reviews: number[] = []
  for (let step = 0; step < STEPS; step += 1) {
    const target = [...products, own][(step * 7 + place) % (products.length + 1)] ?? 0
    const body = { ...sample.review(target, user), rating: 1 + ((step + place) % 5) }
    const known = reviews[step % Math.max(reviews.length, 1)]
    if (step % 10 === 9) {
      const all = products.map(product => line(product, user, 1 + (step % 5)))
      const sent = note(await api.send('/reviews/', { method: 'POST', headers: NDJSON, body: all.join('') }))
      if (sent.status === 200) reviews.push(...Created.parse(sent.body).ids)
    } else if (step % 20 === 17) {
      note(await api.delete(`/users/${user}`))
      user = await api.create('/users/', { ...sample.user, password: '' })
      reviews.length = 0
    } else if (step % 20 === 7) {
      note(await api.delete(`/products/${own}`))
      own = await api.create('/products/', sample.product)
    } else if (step % 4 === 1 && known !== undefined) note(await api.patch(`/reviews/${known}`, body))
    else if (step % 4 === 3 && known !== undefined) note(await api.delete(`/reviews/${known}`))
    else {
      const { status, body: created } = note(await api.post('/reviews/', body))
      if (status === 200) reviews.push(z.object({ id: z.int() }).parse(created).id)
    }
  }
}

async function productAndUser(api: Client): Promise<[product: number, user: number]> {
  return [await api.create('/products/', sample.product), await api.create('/users/', { ...sample.user, password: '' })]
}

function review(api: Client, product: number, user: number, rating: number): Promise<number> {
  return api.create('/reviews/', { ...sample.review(product, user), rating })
}

function line(product: number, user: number, rating: number): string {
  return `${JSON.stringify({ ...sample.review(product, user), rating })}\n`
}

function lines(product: number, user: number, count: number): string {
  return line(product, user, 4).repeat(count)
}

async function ratingOf(api: Client, product: number): Promise<unknown> {
  const { status, body } = await api.get(`/ratings/products/${product}`)
  expect(status).toBe(200)
  return body
}

async function histogramsOf(api: Client, ...products: number[]): Promise<unknown[]> {
  const ratings = await Promise.all(products.map(product => ratingOf(api, product)))
  return ratings.map(rating => z.object({ histogram: z.array(z.int()) }).parse(rating).histogram)
}

/** The counts that the triggers have kept, without those of products that have lost all reviews, and the counts of the reviews. */
async function countedIn(engine: (typeof ENGINES)[number], url: string) {
  const rows = async (sql: string) => (await engine.read<Record<string, unknown>>(url, sql)).map(numbers)
  const ofStar = (rating: number) => `sum(CASE WHEN rating = ${rating} THEN 1 ELSE 0 END)`
  return {
    kept: await rows(
      `SELECT product_id, one_star, two_stars, three_stars, four_stars, five_stars FROM product_ratings
      WHERE (one_star, two_stars, three_stars, four_stars, five_stars) <> (0, 0, 0, 0, 0) ORDER BY product_id`,
    ),
    counted: await rows(
      `SELECT product_id, ${[1, 2, 3, 4, 5].map(rating => `${ofStar(rating)} AS stars_${rating}`)}
      FROM reviews GROUP BY product_id ORDER BY product_id`,
    ),
  }
}

/** PostgreSQL's sums come as text. */
function numbers(row: Record<string, unknown>): number[] {
  return Object.values(row).map(Number)
}
