import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { EventFollower } from '../../test/harness/catalog/follower.ts'
import { client } from '../../test/harness/client.ts'
import { countSkippedOnCitus } from '../../test/harness/contract.ts'
import { copied, everythingIn, everythingOf } from '../../test/harness/copy/copied.ts'
import { migrated, oddShop, PASSWORD } from '../../test/harness/copy/odd-shop.ts'
import { citus, ENGINES, postgres, sqlite } from '../../test/harness/engines.ts'
import { connected } from '../../test/harness/postgres/database.ts'
import { sample } from '../../test/harness/samples.ts'
import { run, startService } from '../../test/harness/service.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'
import { runAtTerminal } from '../../test/harness/terminal/talk.ts'
import { until } from '../../test/harness/until.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']
const WRITERS = 4

/** They are read in two full pieces, and a last one that is empty. */
const MANY = 2_000

const IN_INDIA = `
  DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone TO ''Asia/Kolkata''', current_database()); END $$`

/** Copies only read it. */
let shop: Awaited<ReturnType<typeof oddShop>>
beforeAll(async () => {
  shop = await oddShop()
})
afterAll(() => shop[Symbol.asyncDispose]())

countSkippedOnCitus()

/** Each engine as the source, and each as the target. */
const WAYS = [
  [sqlite, postgres],
  [postgres, sqlite],
  ...(citus
    ? ([
        [sqlite, citus],
        [citus, postgres],
      ] as const)
    : []),
] as const

test('a database of unusual values goes from SQLite to PostgreSQL, on to others and back, and is the same to the last bit', async () => {
  using folder = temporaryFolder()
  await using databases = new AsyncDisposableStack()
  const back = `sqlite:${join(folder.path, 'back.db')}`
  const targets: string[] = []
  for (const engine of [postgres, postgres, ...(citus ? [citus, citus] : [])]) {
    targets.push(databases.use(await engine.freshDatabase()).url)
  }
  const original = await everythingIn(shop.url)
  expect(original).not.toEqual([[], [], [], []])
  let from = shop.url
  for (const to of [...targets, back]) {
    const { status, output } = await run(['copy', from, to])
    expect({ status, output }).toEqual({ status: 0, output: expect.stringMatching(/^Copied and compared: 4 categor/) })
    expect(await everythingIn(to)).toEqual(original)
    // As in a database that sorts texts by the rules of a language, and has a time zone of its own.
    if (to === targets[0])
      await postgres.write(to, `ALTER TABLE access_keys ALTER name TYPE text COLLATE "en-x-icu"; ${IN_INDIA}`)
    from = to
  }
  // No answer shows these: password hashes, talk, chat and keys.
  expect(contentsOf(back)).toEqual(contentsOf(shop.url))
})

test('a user of the terminal chat logs in at the copy with the same password and finds their history', async () => {
  await using from = await sqlite.freshDatabase()
  await using to = await postgres.freshDatabase()
  const session = ['R', 'ada', PASSWORD, 'How deep?', 'quit', ''].join('\n')
  expect(await run(['talk', '--database', from.url], { input: session })).toMatchObject({ status: 0 })
  await copied(from.url, to.url)
  const history = (database: string) =>
    run(['talk', '--database', database, '--last', '9', '--json'], { input: `L\nada\n${PASSWORD}\n` })
  const before = await history(from.url)
  expect(before.status, before.errors).toBe(0)
  expect(before.output).toContain('How deep?')
  expect(await history(to.url)).toEqual(before)
})

test("a copy to PostgreSQL has the chat's tables that only PostgreSQL has, and joins the text of a growing answer", async () => {
  await using target = await postgres.freshDatabase()
  await copied(shop.url, target.url)
  await using sql = connected(target.url)
  const unclaimed = await sql<{ req_id: string }[]>`SELECT req_id FROM prompts WHERE NOT is_claimed`
  expect([...unclaimed]).toEqual([{ req_id: 'never answered' }])
  await sql`INSERT INTO prompts (req_id, text, is_claimed) VALUES ('growing', 'How long?', true)`
  await sql`INSERT INTO answers (req_id, state, text) VALUES ('growing', 'running', 'As ')`
  // The first came late: it is in the text already.
  for (const [position, piece] of [
    [0, 'As '],
    [3, 'long as '],
    [11, 'it takes.'],
  ]) {
    await sql`INSERT INTO answer_pieces (req_id, position, text) VALUES ('growing', ${position}, ${piece})`
  }
  await using again = await postgres.freshDatabase()
  await copied(target.url, again.url)
  await using back = await sqlite.freshDatabase()
  await copied(again.url, back.url)
  const growing = expect.objectContaining({ req_id: 'growing', state: 'running', text: 'As long as it takes.' })
  expect(contentsOf(back.url).answers).toContainEqual(growing)
})

test('a service that runs on the empty database shows the copy at once, and tells its followers', async () => {
  for (const engine of ENGINES) {
    await using target = await migrated(engine)
    await using service = await startService(target.url, { flags: FLAGS })
    const api = client(() => service.address)
    expect(await everythingOf(api)).toEqual([[], [], [], []])
    // A cached absence.
    for (let read = 0; read < 2; read += 1) expect((await api.get('/products/2')).status).toBe(404)
    await using follower = await EventFollower.at(service.address)
    await copied(shop.url, target.url)
    expect((await api.get('/products/2')).status, engine.name).toBe(200)
    expect(await everythingOf(api)).toEqual(await everythingIn(shop.url))
    const events = (await follower.count(4)).map(({ event, data }) => [event, data?.data])
    expect(events, engine.name).toEqual([
      ['categories.imported', { count: 4, first_id: 1, last_id: 4 }],
      ['products.imported', { count: 17, first_id: 1, last_id: 18 }],
      ['users.imported', { count: 2, first_id: 1, last_id: 2 }],
      ['reviews.imported', { count: 3, first_id: 1, last_id: 3 }],
    ])
  }
})

test('a follower that begins at the start gets the events of a copy that ran before the first service', async () => {
  for (const engine of ENGINES) {
    await using target = await engine.freshDatabase()
    await copied(shop.url, target.url)
    await using service = await startService(target.url, { flags: FLAGS })
    await using follower = await EventFollower.at(service.address, '/events?since=start')
    const types = (await follower.count(4)).map(({ event }) => event)
    expect(types, engine.name).toEqual(['categories', 'products', 'users', 'reviews'].map(name => `${name}.imported`))
  }
})

test('an empty database can be copied', async () => {
  for (const [from, to] of WAYS) {
    await using source = await migrated(from)
    await using target = await to.freshDatabase()
    await using service = await startService(target.url, { flags: FLAGS })
    await using follower = await EventFollower.at(service.address)
    await copied(source.url, target.url)
    const api = client(() => service.address)
    expect(await everythingOf(api), `${from.name} to ${to.name}`).toEqual([[], [], [], []])
    expect(await api.create('/products/', sample.product)).toBe(1)
    const [first] = await follower.count(1)
    expect(first?.event, `${from.name} to ${to.name}`).toBe('product.created')
  }
})

test('followers are told the first and the last id of a table that was read in several pieces', async () => {
  for (const engine of ENGINES) {
    await using source = await migrated(sqlite)
    await sqlite.write(
      source.url,
      `WITH RECURSIVE many (id) AS (VALUES (5) UNION ALL SELECT id + 1 FROM many WHERE id < ${4 + MANY})
      INSERT INTO categories (id, name, description) SELECT id, 'Spades', '' FROM many`,
    )
    await using target = await engine.freshDatabase()
    await using service = await startService(target.url, { flags: FLAGS })
    await using follower = await EventFollower.at(service.address)
    await copied(source.url, target.url)
    const [imported] = await follower.count(1)
    expect(imported?.data?.data, engine.name).toEqual({ count: MANY, first_id: 5, last_id: 4 + MANY })
  }
})

test('a copy goes on with ids after the highest ever used, even by rows deleted since', async () => {
  for (const [from, to] of [...WAYS, [postgres, postgres] as const]) {
    await using source = await from.freshDatabase()
    await using target = await to.freshDatabase()
    {
      await using service = await startService(source.url, { flags: FLAGS })
      const api = client(() => service.address)
      for (const name of ['first', 'second', 'third']) await api.create('/products/', { ...sample.product, name })
      await api.delete('/products/3')
      // Nothing is left of these.
      for (const user of [1, 2]) expect(await api.create('/users/', sample.user)).toBe(user)
      await api.delete('/users/1')
      await api.delete('/users/2')
    }
    // Another program has chosen the id itself.
    if (from !== citus)
      await from.write(source.url, "INSERT INTO categories (id, name, description) VALUES (9, '', '')")
    await copied(source.url, target.url)
    await using service = await startService(target.url, { flags: FLAGS })
    const api = client(() => service.address)
    expect(await api.create('/products/', sample.product), `${from.name} to ${to.name}`).toBe(4)
    expect(await api.create('/users/', sample.user), `${from.name} to ${to.name}`).toBe(3)
    const category = from === citus ? 1 : 10
    expect(await api.create('/categories/', sample.category), `${from.name} to ${to.name}`).toBe(category)
  }
})

test('a copy has the same indexes and foreign keys as a database whose tables were just created, and its search index is complete', async () => {
  for (const engine of ENGINES) {
    await using other = await migrated(engine)
    await using target = await engine.freshDatabase()
    await copied(shop.url, target.url)
    const shape = await shapeOf(other.url)
    expect(shape.length).toBeGreaterThan(10)
    expect(await shapeOf(target.url)).toEqual(shape)
    expect(await engine.read(target.url, 'SELECT * FROM index_notes')).toEqual([])
  }
})

test('a copy of a database in use is of one moment, with everything acknowledged before', async () => {
  for (const [from, to] of WAYS) {
    await using source = await from.freshDatabase()
    await using target = await to.freshDatabase()
    await using service = await startService(source.url, { flags: FLAGS })
    const api = client(() => service.address)
    const user = await api.create('/users/', sample.user)
    const acknowledged: number[] = []
    let goesOn = true
    const writers = Array.from({ length: WRITERS }, async () => {
      while (goesOn) {
        const product = await api.create('/products/', { ...sample.product, description: 'x'.repeat(2_000) })
        await api.create('/reviews/', sample.review(product, user))
        acknowledged.push(product)
      }
    })
    let before: number[]
    try {
      await until(() => acknowledged.length >= 100)
      before = [...acknowledged]
      await copied(source.url, target.url)
    } finally {
      goesOn = false
      await Promise.all(writers)
    }
    const [, products = [], , reviews = []] = await everythingIn(target.url)
    const ids = new Set(products.map(({ id }) => id))
    expect(before.filter(id => !ids.has(id))).toEqual([])
    expect(acknowledged.length).toBeGreaterThan(before.length)
    // A writer creates the review after its product, so at any moment it is at most one review behind.
    expect(products.length - reviews.length).toBeLessThanOrEqual(WRITERS)
    expect(reviews.length).toBeLessThanOrEqual(products.length)
  }
})

test('copy takes the password of PostgreSQL from the environment if the address has none', async () => {
  await using target = await postgres.freshDatabase()
  const url = new URL(target.url)
  const password = decodeURIComponent(url.password)
  url.password = ''
  expect((await run(['copy', shop.url, url.href])).status).toBe(1)
  const ran = await run(['copy', shop.url, url.href], { environment: { DATABASE_PASSWORD: password } })
  expect(ran).toMatchObject({ status: 0 })
})

test('a copied SQLite file is readable by its owner alone', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'copy.db')
  await copied(shop.url, `sqlite:${file}`)
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
  expect(existsSync(`${file}-wal`)).toBe(false)
})

test('copy shows its progress as a bar at a terminal, and as a line for each table elsewhere', async () => {
  using folder = temporaryFolder()
  const { errors } = await copied(shop.url, `sqlite:${join(folder.path, 'plain.db')}`)
  expect(errors).toContain('reviews: 3\n')
  expect(errors).toContain('reviews, checked: 3\n')
  const { status, screen } = await runAtTerminal(['copy', shop.url, `sqlite:${join(folder.path, 'shown.db')}`])
  expect(status).toBe(0)
  expect(screen).toMatch(/reviews +█{30} 3\/3/)
})

/** Every row of a SQLite file. */
function contentsOf(url: string): Record<string, unknown[]> {
  using database = new Database(url.slice('sqlite:'.length), { readonly: true })
  const all = (sql: string) => database.query(sql).all()
  return {
    categories: all('SELECT * FROM categories ORDER BY id'),
    products: all('SELECT * FROM products ORDER BY id'),
    users: all('SELECT * FROM users ORDER BY id'),
    reviews: all('SELECT * FROM reviews ORDER BY id'),
    prompts: all('SELECT * FROM prompts ORDER BY id'),
    answers: all('SELECT * FROM answers ORDER BY req_id'),
    accounts: all('SELECT * FROM accounts ORDER BY username'),
    rooms: all('SELECT * FROM rooms ORDER BY name'),
    messages: all('SELECT * FROM messages ORDER BY id'),
    keys: all('SELECT * FROM access_keys ORDER BY name'),
    counters: all('SELECT * FROM sqlite_sequence ORDER BY name'),
  }
}

/** The indexes and constraints of a database, as the database describes them. */
async function shapeOf(url: string): Promise<unknown[]> {
  if (url.startsWith('sqlite:')) {
    using database = new Database(url.slice('sqlite:'.length), { readonly: true })
    return database.query("SELECT name, tbl_name, sql FROM sqlite_schema WHERE type <> 'table' ORDER BY name").all()
  }
  await using sql = connected(url)
  return [
    ...(await sql`SELECT indexdef AS shape FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname`),
    ...(await sql`
      SELECT conname, conrelid::regclass::text, pg_get_constraintdef(oid) AS shape, convalidated FROM pg_constraint
      WHERE connamespace = 'public'::regnamespace ORDER BY conrelid::regclass::text, conname`),
  ]
}
