import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import { type Client, client } from '../../../../test/harness/client.ts'
import { connected, createDatabase, type TestDatabase } from '../../../../test/harness/postgres/database.ts'
import { sharedServerUrl } from '../../../../test/harness/postgres/shared-server.ts'
import { sample } from '../../../../test/harness/samples.ts'
import { startService } from '../../../../test/harness/service.ts'

/** Simultaneous creates go to PostgreSQL as one statement; each client gets the answer for its own. */

setDefaultTimeout(120_000)

const CLIENTS = 100
/** More than a process has connections. */
const WAITING = 16

const Product = z.object({ id: z.int(), name: z.string() })
const Review = z.object({ id: z.int(), comment: z.string() })

const open = new AsyncDisposableStack()
let database: TestDatabase
let api: Client

beforeAll(async () => {
  database = open.use(await createDatabase(await sharedServerUrl()))
  const service = open.use(await startService(database.url, { flags: ['--access-log', 'off'] }))
  api = client(() => service.address)
})
afterAll(() => open.disposeAsync())

test('each of many simultaneous creates returns the id of its own row', async () => {
  const product = await api.create('/products/', sample.product)
  const user = await api.create('/users/', sample.user)
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, which) => {
      const named = Product.parse((await api.post('/products/', { ...sample.product, name: `Spade ${which}` })).body)
      expect((await api.get(`/products/${named.id}`)).body).toMatchObject({ name: `Spade ${which}` })
      const answer = await api.post('/reviews/', { ...sample.review(product, user), comment: `No. ${which}` })
      const { id } = Review.parse(answer.body)
      const read = await api.get(`/reviews/${id}`)
      expect(read.body).toEqual(answer.body)
      expect(read.body).toMatchObject({ id, comment: `No. ${which}`, product: { id: product }, user: { id: user } })
    }),
  )
})

test("a create returns its own id or fails if the database drops another client's row", async () => {
  await using sql = connected(database.url)
  // An operator's trigger or rule may do this.
  await sql.unsafe(`
    CREATE FUNCTION drop_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`)
  await sql.unsafe(`
    CREATE TRIGGER drop_some BEFORE INSERT ON products FOR EACH ROW WHEN (new.name LIKE 'Dropped%') EXECUTE FUNCTION drop_row()`)
  try {
    const names = Array.from({ length: CLIENTS }, (_, which) => `${which % 10 === 5 ? 'Dropped' : 'Kept'} ${which}`)
    const answers = await Promise.all(
      names.map(async name => ({ name, answer: await api.post('/products/', { ...sample.product, name }) })),
    )
    for (const { name, answer } of answers) {
      expect(answer.status, name).toBe(name.startsWith('Kept') ? 200 : 500)
      if (answer.status !== 200) continue
      const { id } = Product.parse(answer.body)
      expect((await api.get(`/products/${id}`)).body).toMatchObject({ id, name })
    }
  } finally {
    await sql.unsafe('DROP TRIGGER drop_some ON products')
  }
})

test('of simultaneous creates, those that a rule of the database refuses fail, and the others are made once', async () => {
  await using sql = connected(database.url)
  await sql.unsafe(`ALTER TABLE products ADD CONSTRAINT no_refused CHECK (name NOT LIKE 'Refused%')`)
  try {
    const names = Array.from({ length: CLIENTS }, (_, which) => `${which % 10 === 5 ? 'Refused' : 'Taken'} ${which}`)
    const answers = await Promise.all(names.map(name => api.post('/products/', { ...sample.product, name })))
    expect(answers.map(({ status }) => status)).toEqual(names.map(name => (name.startsWith('Refused') ? 500 : 200)))
    const taken = await sql<{ name: string }[]>`SELECT name FROM products WHERE name LIKE 'Taken%' ORDER BY id`
    const made = answers.flatMap(({ status, body }) => (status === 200 ? [Product.parse(body)] : []))
    expect(taken.map(({ name }) => name)).toEqual(
      made.toSorted((one, other) => one.id - other.id).map(({ name }) => name),
    )
  } finally {
    await sql.unsafe('ALTER TABLE products DROP CONSTRAINT no_refused')
  }
})

test('of simultaneous creates, one whose text is too long for an index of the operator fails, and the others are made', async () => {
  const review = sample.review(
    await api.create('/products/', sample.product),
    await api.create('/users/', { ...sample.user, password: '' }),
  )
  await using sql = connected(database.url)
  await sql`CREATE INDEX comments ON reviews (comment)`
  try {
    const random = Buffer.from(crypto.getRandomValues(new Uint8Array(8_000))).toString('base64')
    const comments = Array.from({ length: CLIENTS }, (_, which) => (which === 5 ? random : 'Short'))
    const answers = await Promise.all(comments.map(comment => api.post('/reviews/', { ...review, comment })))
    expect(answers.map(({ status }) => status)).toEqual(comments.map(text => (text === random ? 500 : 200)))
  } finally {
    await sql`DROP INDEX comments`
  }
})

test('of simultaneous creates, those with an unknown product, user or category are refused and the others succeed', async () => {
  const category = await api.create('/categories/', sample.category)
  const product = await api.create('/products/', sample.product)
  const user = await api.create('/users/', sample.user)
  const absent = 1_000_000_000
  const answers = await Promise.all([
    api.post('/reviews/', sample.review(product, user)),
    api.post('/reviews/', sample.review(absent, user)),
    api.post('/reviews/', sample.review(product, absent)),
    api.post('/reviews/', sample.review(absent, absent)),
    api.post('/reviews/', sample.review(product, user)),
    api.post(`/products/${category}/products`, sample.product),
    api.post(`/products/${absent}/products`, sample.product),
    api.post('/products/', sample.product),
  ])
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 404, 404, 200, 200, 404, 200])
  const details = [1, 2, 3, 6].map(which => answers[which]?.body)
  expect(details).toEqual(['Product', 'User', 'Product', 'Category'].map(name => ({ detail: `${name} not found` })))
})

test('ids continue above those that another program has chosen for its rows', async () => {
  await using sql = connected(database.url)
  const user = await api.create('/users/', sample.user)
  const product = await api.create('/products/', sample.product)
  const review = await api.create('/reviews/', sample.review(product, user))
  await sql`INSERT INTO products (id, name, description, price)
    SELECT id, 'Rake', 'Wood', 12 FROM generate_series(${product}::int + 1, ${product}::int + 3) AS id`
  await sql`INSERT INTO reviews (id, product_id, user_id, rating, comment) VALUES (${review + 1}, ${product}, ${user}, 5, '')`
  const bodies = Array.from({ length: 8 }, () => sample.product)
  const ids = await Promise.all(bodies.map(body => api.create('/products/', body)))
  expect(ids.toSorted((one, other) => one - other)).toEqual(bodies.map((_, place) => product + 4 + place))
  expect(await api.create('/reviews/', sample.review(product, user))).toBe(review + 2)
  const last = await api.create('/products/', sample.product)
  await sql`INSERT INTO products (id, name, description, price) VALUES (${last + 1}, 'Rake', 'Wood', 12)`
  const headers = { 'Content-Type': 'application/x-ndjson' }
  const posted = await api.send('/products/', { method: 'POST', body: JSON.stringify(sample.product), headers })
  expect(posted.body).toEqual({ created: 1, ids: [last + 2] })
})

test('a create that waits for a delete to finish holds up no other, and learns the outcome', async () => {
  const [kept, deleted, undone] = await Promise.all([1, 2, 3].map(() => api.create('/products/', sample.product)))
  const user = await api.create('/users/', sample.user)
  await using deleting = connected(database.url)
  await using undoing = connected(database.url)
  await deleting.unsafe('BEGIN')
  await deleting`DELETE FROM products WHERE id = ${deleted ?? 0}`
  await undoing.unsafe('BEGIN')
  await undoing`DELETE FROM products WHERE id = ${undone ?? 0}`
  const waiting = [deleted, undone].map(product => api.post('/reviews/', sample.review(product ?? 0, user)))
  const first = await api.post('/reviews/', sample.review(kept ?? 0, user))
  const second = await api.post('/reviews/', sample.review(kept ?? 0, user))
  expect([first, second].map(({ status }) => status)).toEqual([200, 200])
  await deleting.unsafe('COMMIT')
  await undoing.unsafe('ROLLBACK')
  const [gone, stays] = await Promise.all(waiting)
  expect(gone?.status).toBe(404)
  expect(gone?.body).toEqual({ detail: 'Product not found' })
  expect(stays?.status).toBe(200)
})

test('a create that waits for a locked row is not held up by those that wait for another one', async () => {
  const [locked, soonFree, free] = await Promise.all([1, 2, 3].map(() => api.create('/products/', sample.product)))
  const user = await api.create('/users/', sample.user)
  await using locking = connected(database.url)
  await using freeing = connected(database.url)
  for (const [sql, id] of [
    [locking, locked],
    [freeing, soonFree],
  ] as const) {
    await sql.unsafe('BEGIN')
    await sql`SELECT FROM products WHERE id = ${id ?? 0} FOR UPDATE`
  }
  const other = api.post('/reviews/', sample.review(locked ?? 0, user))
  await api.create('/reviews/', sample.review(free ?? 0, user))
  const waiting = api.post('/reviews/', sample.review(soonFree ?? 0, user))
  await api.create('/reviews/', sample.review(free ?? 0, user))
  await freeing.unsafe('ROLLBACK')
  expect((await waiting).status).toBe(200)
  await locking.unsafe('ROLLBACK')
  await other
})

test('many creates that wait for one locked row hold up no other write', async () => {
  const [locked, free] = [
    await api.create('/products/', sample.product),
    await api.create('/products/', sample.product),
  ]
  const user = await api.create('/users/', sample.user)
  await using locking = connected(database.url)
  await locking.unsafe('BEGIN')
  await locking`SELECT FROM products WHERE id = ${locked} FOR UPDATE`
  let created = 0
  const waiting = Array.from({ length: WAITING }, async () => {
    // Those that wait for longer than a second get 503.
    if ((await api.post('/reviews/', sample.review(locked, user))).status === 200) created += 1
  })
  for (let place = 0; place < WAITING; place += 1) {
    expect((await api.post('/reviews/', sample.review(free, user))).status).toBe(200)
    expect((await api.put(`/products/${free}`, sample.product)).status).toBe(200)
  }
  expect(created).toBe(0)
  await locking.unsafe('ROLLBACK')
  await Promise.all(waiting)
})
