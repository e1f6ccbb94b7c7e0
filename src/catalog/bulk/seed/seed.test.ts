import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { type Client, client } from '../../../../test/harness/client.ts'
import { expectRefusal } from '../../../../test/harness/refusal.ts'
import { sample } from '../../../../test/harness/samples.ts'
import { run, runAtTerminal, startService } from '../../../../test/harness/service.ts'
import { temporaryFolder } from '../../../../test/harness/temporary-folder.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']
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
const flag = z.union([z.literal(0), z.literal(1)])

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

test('without sizes, seed makes 20 categories, 500 products, 100 users and 1500 reviews', async () => {
  await using shop = await seededShop([])
  expect(await sizesOf(shop.api)).toEqual([20, 500, 100, 1_500])
})

test('seed makes as many of each kind as the flags say', async () => {
  await using shop = await seededShop(['--categories', '3', '--products', '40', '--users', '7', '--reviews', '50'])
  expect(await sizesOf(shop.api)).toEqual([3, 40, 7, 50])
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
    await using shop = await seededShop(kinds.flatMap((kind, place) => [kind, String(sizes[place])]))
    expect(await sizesOf(shop.api)).toEqual([...sizes])
  }
})

test('seed gives every category its own name, even beyond the departments that a shop has', async () => {
  await using shop = await seededShop(['--categories', '1500', '--products', '10', '--users', '1', '--reviews', '1'])
  const { body } = await shop.api.get('/categories/?limit=100000')
  const categories = Believable.categories.parse(body)
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
  await using first = await seededShop(sizes)
  await using second = await seededShop(sizes)
  for (const path of [
    ...COLLECTIONS.map(collection => `${collection}?limit=100000`),
    ...['/categories/3', '/products/7', '/users/9', '/reviews/11'],
    ...['/products/2/products', '/reviews/products/1', '/reviews/users/5'],
  ]) {
    const [expected, found] = [await first.api.get(path), await second.api.get(path)]
    expect(found.status, path).toBe(200)
    expect(found.body, path).toEqual(expected.body)
    expect(found.headers.get('Link'), path).toBe(expected.headers.get('Link'))
  }
})

test('the size of one kind does not change what seed makes of the others', async () => {
  await using small = await seededShop(['--users', '40', '--reviews', '0'])
  await using large = await seededShop(['--users', '80', '--reviews', '0', '--products', '600'])
  const users = async (api: Client) => z.array(z.unknown()).parse((await api.get('/users/?limit=1000')).body)
  expect((await users(large.api)).slice(0, 40)).toEqual(await users(small.api))
  expect((await large.api.get('/categories/?limit=1000')).status).toBe(200)
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
  for (const [path, body] of [
    ['/categories/', sample.category],
    ['/products/', sample.product],
    ['/users/', sample.user],
  ] as const) {
    using folder = temporaryFolder()
    const database = `sqlite:${join(folder.path, 'shop.db')}`
    await using service = await startService(database, { flags: FLAGS })
    const api = client(() => service.address)
    await api.create(path, body)
    const before = await everythingOf(api)
    expectRefusal(await run(['seed', '--database', database]), { status: 1, reason: /needs an empty one/ }, path)
    expect(await everythingOf(api), path).toEqual(before)
  }
})

test('seeding twice is refused, and the catalog stays as it was', async () => {
  await using shop = await seededShop(['--reviews', '10'])
  const before = await everythingOf(shop.api)
  expectRefusal(await run(['seed', '--database', shop.database]), { status: 1, reason: /needs an empty one/ })
  expect(await everythingOf(shop.api)).toEqual(before)
})

test('of two processes that seed one database at once, one succeeds and the other is refused', async () => {
  using folder = temporaryFolder()
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  const runs = await Promise.all([1, 2].map(() => run(['seed', '--database', database, '--products', '3000'])))
  await using service = await startService(database, { flags: FLAGS })
  expect(await sizesOf(client(() => service.address))).toEqual([20, 3_000, 100, 1_500])
  expect(runs.map(({ status }) => status).sort()).toEqual([0, 1])
})

test('without a terminal, seed reports one plain line for each kind, and the result on a line of its own', async () => {
  using folder = temporaryFolder()
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  expect(await run(['seed', '--database', database, '--products', '700', '--reviews', '30'])).toEqual({
    status: 0,
    errors: 'categories: 20\nproducts: 700\nusers: 100\nreviews: 30\nsearch index: 850\n',
    output: 'The catalog holds 20 categories, 700 products, 100 users, 30 reviews\n',
  })
})

test('at a terminal, seed draws a progress bar for each kind', async () => {
  using folder = temporaryFolder()
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  const { status, screen } = await runAtTerminal(['seed', '--database', database, '--products', '12000'])
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
  expect(bars.filter(({ kind }) => kind === 'products')).toEqual([
    expect.objectContaining({ isFull: false, counts: [10_000, 12_000] }),
    expect.objectContaining({ isFull: true, counts: [12_000, 12_000] }),
  ])
  for (const kind of ['categories', 'users', 'reviews']) {
    expect(bars.findLast(bar => bar.kind === kind)?.isFull, kind).toBe(true)
  }
  expect(screen.trimEnd().split('\r\n').at(-1)).toBe(
    'The catalog holds 20 categories, 12000 products, 100 users, 1500 reviews',
  )
})

test('seed fills the catalog of a running service, which goes on writing', async () => {
  using folder = temporaryFolder()
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  await using service = await startService(database, { flags: FLAGS })
  const api = client(() => service.address)
  expect(await sizesOf(api)).toEqual([0, 0, 0, 0])
  expect(await run(['seed', '--database', database])).toMatchObject({ status: 0 })
  expect(await sizesOf(api)).toEqual([20, 500, 100, 1_500])
  expect(await api.create('/products/', sample.product)).toBe(501)
})

test('seed stores passwords as argon2id hashes only', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  expect(await run(['seed', '--database', `sqlite:${file}`])).toMatchObject({ status: 0 })
  using database = new Database(file, { readonly: true })
  const hashes = z
    .array(z.object({ password_hash: z.string() }))
    .parse(database.query('SELECT DISTINCT password_hash FROM users').all())
  expect(hashes.length).toBeGreaterThan(0)
  for (const { password_hash } of hashes) expect(password_hash).toStartWith('$argon2id$v=19$')
})

interface Shop extends AsyncDisposable {
  readonly api: Client
  readonly database: string
}

/** A service on a database that was seeded before. */
async function seededShop(flags: readonly string[]): Promise<Shop> {
  const open = new AsyncDisposableStack()
  const folder = open.use(temporaryFolder())
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  const seeded = await run(['seed', '--database', database, ...flags])
  if (seeded.status !== 0) throw new Error(seeded.errors)
  const service = open.use(await startService(database, { flags: FLAGS }))
  return { api: client(() => service.address), database, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

async function sizesOf(api: Client): Promise<number[]> {
  return (await everythingOf(api)).map(items => items.length)
}

async function everythingOf(api: Client): Promise<unknown[][]> {
  const answers = await Promise.all(COLLECTIONS.map(path => api.get(`${path}?limit=100000`)))
  return answers.map(({ body }) => z.array(z.unknown()).parse(body))
}
