import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { type Client, client } from '../../../../test/harness/client.ts'
import { QUICK_HASHES } from '../../../../test/harness/contract.ts'
import { migrated } from '../../../../test/harness/copy/odd-shop.ts'
import { sqlite } from '../../../../test/harness/engines.ts'
import { expectRefusal } from '../../../../test/harness/refusal.ts'
import { sample } from '../../../../test/harness/samples.ts'
import { run, type Surroundings, startService } from '../../../../test/harness/service.ts'
import { temporaryFolder } from '../../../../test/harness/temporary-folder.ts'
import { runAtTerminal } from '../../../../test/harness/terminal/talk.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']
const QUICKLY = { environment: QUICK_HASHES }
const COLLECTIONS = ['/categories/', '/products/', '/users/', '/reviews/'] as const

const name = z.string().trim().min(3).max(50)
const embeddedProduct = z.strictObject({ id: z.int(), name, description: z.string().trim().min(10), price: z.number() })
const embeddedReview = z.strictObject({
  id: z.int(),
  product_id: z.int().positive(),
  user_id: z.int().positive(),
  rating: z.int().min(1).max(5),
  comment: z.string().trim().min(5),
})
const Rows = z.array(z.record(z.string(), z.unknown()))
const Named = z.array(z.looseObject({ name, description: name }))
const flag = z.union([z.literal(0), z.literal(1)])

const FLAG_COLUMNS = 'is_active, is_admin, is_banned, is_blocked, is_deleted, is_suspended, is_verified'

/** Values that look real to a shop's visitor. */
const Believable = {
  categories: z.array(
    z.strictObject({ id: z.int(), name, description: name, products: z.array(embeddedProduct).max(100) }),
  ),
  products: z.array(
    z.strictObject({
      ...embeddedProduct.shape,
      price: z.number().positive().max(10_000).multipleOf(0.01),
      reviews: z.array(embeddedReview).max(100),
    }),
  ),
  users: z.array(
    z.strictObject({
      id: z.int(),
      name,
      email: z.email().min(3).max(50),
      avatar: z.string().min(1),
      password: z.literal('**********'),
      is_active: flag,
      is_admin: flag,
      is_banned: flag,
      is_blocked: flag,
      is_deleted: flag,
      is_suspended: flag,
      is_verified: flag,
      reviews: z.array(embeddedReview).max(100),
    }),
  ),
  reviews: z.array(
    z.strictObject({
      ...embeddedReview.shape,
      user: z.strictObject({ id: z.int(), name, avatar: z.string().min(1) }),
      product: embeddedProduct,
    }),
  ),
}

test('seed makes as many of each kind as the flags say', async () => {
  using shop = await seeded(['--categories', '3', '--products', '40', '--users', '7', '--reviews', '50'])
  expect(sizesIn(shop.file)).toEqual([3, 40, 7, 50])
})

test('seed makes none of a kind whose size is 0', async () => {
  for (const sizes of [
    [2, 3, 4, 0],
    [0, 3, 4, 5],
    [2, 0, 4, 0],
    [2, 3, 0, 0],
    [0, 0, 0, 0],
  ] as const) {
    const kinds = ['--categories', '--products', '--users', '--reviews']
    using shop = await seeded(kinds.flatMap((kind, place) => [kind, String(sizes[place])]))
    expect(sizesIn(shop.file)).toEqual([...sizes])
  }
})

test('seed gives every category its own name, even beyond the departments that a shop has', async () => {
  using shop = await seeded(['--categories', '1500', '--products', '10', '--users', '1', '--reviews', '1'])
  const categories = Named.parse(contentsOf(shop.file).categories)
  expect(new Set(categories.map(category => category.name)).size).toBe(1_500)
})

test('seed refuses reviews without products and users before it makes anything', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  for (const missing of ['--products', '--users']) {
    const refused = await run(['seed', '--database', `sqlite:${file}`, missing, '0', '--reviews', '1'])
    expectRefusal(refused, { status: 2, reason: /reviews/ }, missing)
  }
  expect(existsSync(file)).toBe(false)
})

test('seed makes the same catalog from the same sizes on any database', async () => {
  const sizes = ['--categories', '10', '--products', '300', '--users', '60', '--reviews', '900']
  using first = await seeded(sizes)
  using second = await seeded(sizes)
  expect(contentsOf(second.file)).toEqual(contentsOf(first.file))
})

test('the size of one kind does not change what seed makes of the others', async () => {
  using small = await seeded(['--users', '40', '--reviews', '0'])
  using large = await seeded(['--users', '80', '--reviews', '0', '--products', '600'])
  const [few, many] = [contentsOf(small.file), contentsOf(large.file)]
  expect(few.users).toHaveLength(40)
  expect(many.users?.slice(0, 40)).toEqual(few.users)
  expect(many.categories).toEqual(few.categories)
})

test('seed makes a catalog that a visitor would believe', async () => {
  await using shop = await seededShop(['--products', '500', '--users', '500', '--reviews', '1000'])
  const all = async (path: string) => (await shop.api.get(`${path}?limit=100000`)).body
  const categories = Believable.categories.parse(await all('/categories/'))
  const products = Believable.products.parse(await all('/products/'))
  const users = Believable.users.parse(await all('/users/'))
  const reviews = Believable.reviews.parse(await all('/reviews/'))
  expect(new Set(users.map(user => user.email)).size).toBe(users.length)
  expect(new Set(categories.map(category => category.name)).size).toBe(categories.length)
  expect(new Set(products.map(product => product.name)).size).toBeGreaterThan(products.length / 2)
  expect(new Set(reviews.map(review => review.rating))).toEqual(new Set([1, 2, 3, 4, 5]))
  expect(new Set(reviews.map(review => review.comment)).size).toBeGreaterThan(50)
  expect(categories.filter(category => category.products.length === 0)).toEqual([])
  expect(users.filter(user => user.is_admin === 1)).toHaveLength(1)
  expect(users.filter(user => user.is_active === 0)).toEqual([])
})

test('seed makes nothing that the service itself would refuse', async () => {
  await using shop = await seededShop(['--products', '100', '--users', '100', '--reviews', '100'])
  for (const path of COLLECTIONS) {
    const items = z.array(z.looseObject({ id: z.int() })).parse((await shop.api.get(`${path}?limit=100000`)).body)
    const send = path === '/categories/' || path === '/products/' ? shop.api.put : shop.api.patch
    const answers = await Promise.all(items.map(item => send(`${path}${item.id}`, item)))
    for (const [place, answer] of answers.entries()) {
      expect(answer.status, `${path}${items[place]?.id}: ${JSON.stringify(answer.body)}`).toBe(200)
      expect(answer.body).toEqual(items[place] ?? null)
    }
  }
})

test('seed refuses a catalog that is not empty, and leaves it as it was', async () => {
  for (const row of [
    "categories (name, description) VALUES ('Garden', '')",
    "products (name, price, description) VALUES ('Spade', 34.5, '')",
    `users (name, email, avatar, password_hash, ${FLAG_COLUMNS}) VALUES ('Ada', 'ada@mail.example', '', '', 1, 0, 0, 0, 0, 0, 1)`,
  ]) {
    await using catalog = await migrated(sqlite)
    await sqlite.write(catalog.url, `INSERT INTO ${row}`)
    const file = fileOf(catalog.url)
    const before = contentsOf(file)
    expectRefusal(
      await run(['seed', '--database', catalog.url], QUICKLY),
      { status: 1, reason: /needs an empty one/ },
      row,
    )
    expect(contentsOf(file), row).toEqual(before)
  }
})

test('seed names in one line the rule of the database that refuses a row', async () => {
  await using catalog = await migrated(sqlite)
  await sqlite.write(catalog.url, 'CREATE UNIQUE INDEX one_banned ON users (is_banned)')
  const { status, errors } = await run(['seed', '--database', catalog.url, '--reviews', '0'], QUICKLY)
  expect([status, errors]).toEqual([
    1,
    expect.stringMatching(/\nstockroom: .* nothing was stored: .*users\.is_banned\n$/),
  ])
})

describe('without sizes', () => {
  let shop: Seeded
  beforeAll(async () => {
    shop = await seeded([], {})
  })
  afterAll(() => shop[Symbol.dispose]())

  test('seed makes 20 categories, 500 products, 100 users and 1500 reviews', () => {
    expect(sizesIn(shop.file)).toEqual([20, 500, 100, 1_500])
  })

  test('seeding twice is refused, and the catalog stays as it was', async () => {
    const before = contentsOf(shop.file)
    expectRefusal(await run(['seed', '--database', shop.database], QUICKLY), {
      status: 1,
      reason: /needs an empty one/,
    })
    expect(contentsOf(shop.file)).toEqual(before)
  })

  test('seed stores passwords as argon2id hashes only', () => {
    using database = new Database(shop.file, { readonly: true })
    const hashes = z
      .array(z.object({ password_hash: z.string() }))
      .parse(database.query('SELECT DISTINCT password_hash FROM users').all())
    expect(hashes.length).toBeGreaterThan(0)
    for (const { password_hash } of hashes) expect(password_hash).toStartWith('$argon2id$v=19$')
  })
})

test('of two processes that seed one database at once, one succeeds and the other is refused', async () => {
  using folder = temporaryFolder()
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  const runs = await Promise.all([1, 2].map(() => run(['seed', '--database', database, '--products', '1000'], QUICKLY)))
  expect(sizesIn(fileOf(database))).toEqual([20, 1_000, 100, 1_500])
  expect(runs.map(({ status }) => status).sort()).toEqual([0, 1])
})

test('without a terminal, seed reports one plain line for each kind, and the result on a line of its own', async () => {
  using folder = temporaryFolder()
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  expect(await run(['seed', '--database', database, '--products', '700', '--reviews', '1'], QUICKLY)).toEqual({
    status: 0,
    errors: 'categories: 20\nproducts: 700\nusers: 100\nreviews: 1\nsearch index: 821\n',
    output: 'The catalog holds 20 categories, 700 products, 100 users, 1 review\n',
  })
})

test('at a terminal, seed draws a progress bar for each kind', async () => {
  using folder = temporaryFolder()
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  // Reviews are not searched, so many of them are made sooner than many products.
  const sizes = ['--products', '10', '--reviews', '12000']
  const { status, screen } = await runAtTerminal(['seed', '--database', database, ...sizes], QUICKLY)
  expect(status).toBe(0)
  const bars = [...screen.matchAll(/\r(\w+) +(█*)(░*) (\d+)\/(\d+)/g)].map(
    ([, kind, full = '', empty = '', ...counts]) => ({
      kind,
      isFull: empty === '',
      width: full.length + empty.length,
      counts: counts.map(Number),
    }),
  )
  expect(new Set(bars.map(({ width }) => width)).size).toBe(1)
  expect(bars.filter(({ kind }) => kind === 'reviews')).toEqual([
    expect.objectContaining({ isFull: false, counts: [10_000, 12_000] }),
    expect.objectContaining({ isFull: true, counts: [12_000, 12_000] }),
  ])
  for (const kind of ['categories', 'products', 'users']) {
    expect(bars.findLast(bar => bar.kind === kind)?.isFull, kind).toBe(true)
  }
  expect(screen.trimEnd().split('\r\n').at(-1)).toBe(
    'The catalog holds 20 categories, 10 products, 100 users, 12000 reviews',
  )
})

test('seed fills the catalog of a running service, which goes on writing', async () => {
  using folder = temporaryFolder()
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  await using service = await startService(database, { flags: FLAGS, ...QUICKLY })
  const api = client(() => service.address)
  expect(await sizesOf(api)).toEqual([0, 0, 0, 0])
  expect(await run(['seed', '--database', database], QUICKLY)).toMatchObject({ status: 0 })
  expect(await sizesOf(api)).toEqual([20, 500, 100, 1_500])
  expect(await api.create('/products/', sample.product)).toBe(501)
})

interface Seeded extends Disposable {
  readonly file: string
  readonly database: string
}

/** A database that was seeded. */
async function seeded(flags: readonly string[], surroundings: Surroundings = QUICKLY): Promise<Seeded> {
  const folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  const database = `sqlite:${file}`
  const { status, errors } = await run(['seed', '--database', database, ...flags], surroundings)
  if (status !== 0) throw new Error(errors)
  return { file, database, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

interface Shop extends AsyncDisposable {
  readonly api: Client
}

/** A service on a database that was seeded before. */
async function seededShop(flags: readonly string[]): Promise<Shop> {
  const open = new AsyncDisposableStack()
  const { database } = open.use(await seeded(flags))
  const service = open.use(await startService(database, { flags: FLAGS, ...QUICKLY }))
  return { api: client(() => service.address), [Symbol.asyncDispose]: () => open.disposeAsync() }
}

async function sizesOf(api: Client): Promise<number[]> {
  return (await everythingOf(api)).map(items => items.length)
}

async function everythingOf(api: Client): Promise<unknown[][]> {
  const answers = await Promise.all(COLLECTIONS.map(path => api.get(`${path}?limit=100000`)))
  return answers.map(({ body }) => z.array(z.unknown()).parse(body))
}

/** All rows of the catalog, without the password and the revisions, which are random. */
function contentsOf(file: string): Record<'categories' | 'products' | 'users' | 'reviews', unknown[]> {
  using database = new Database(file, { readonly: true })
  const rowsOf = (table: string) =>
    Rows.parse(database.query(`SELECT * FROM ${table} ORDER BY id`).all()).map(
      ({ password_hash, revision, ...row }) => row,
    )
  return {
    categories: rowsOf('categories'),
    products: rowsOf('products'),
    users: rowsOf('users'),
    reviews: rowsOf('reviews'),
  }
}

function sizesIn(file: string): number[] {
  return Object.values(contentsOf(file)).map(rows => rows.length)
}

function fileOf(url: string): string {
  return url.slice('sqlite:'.length)
}
