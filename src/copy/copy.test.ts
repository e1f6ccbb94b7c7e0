import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, linkSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawn } from 'bun'
import { z } from 'zod'
import { type Client, client } from '../../test/harness/client.ts'
import { ENGINES, type Engine, postgres, sqlite } from '../../test/harness/engines.ts'
import { connected } from '../../test/harness/postgres/database.ts'
import { expectRefusal } from '../../test/harness/refusal.ts'
import { sample } from '../../test/harness/samples.ts'
import { commandLine, type Run, run, runAtTerminal, startService, surroundingsOf } from '../../test/harness/service.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'
import { until } from '../../test/harness/until.ts'
import { catalogMigrations } from '../catalog/migrations/index.ts'
import { chatMigrations } from '../chat/migrations/index.ts'
import { openDatabase } from '../database/open.ts'
import { database as databaseSetting } from '../database/settings.ts'
import { talkMigrations } from '../talk/migrations/index.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']
const COLLECTIONS = ['/categories/', '/products/', '/users/', '/reviews/'] as const
const WRITERS = 4

/** From each engine to each. */
const WAYS = ENGINES.flatMap(from => ENGINES.map(to => [from, to] as const))

/** Enough to be killed amid. */
const MANY_REVIEWS = 100_000

const MILLISECONDS = Date.UTC(2026, 0, 31, 23, 59, 59, 7)
const PASSWORD = 'a secret of mine'

const Items = z.array(z.looseObject({ id: z.int() }))

test('a database of odd values goes from SQLite to PostgreSQL, on to another and back, and is the same to the last bit', async () => {
  await using shop = await oddShop()
  await using first = await postgres.freshDatabase()
  await using second = await postgres.freshDatabase()
  using folder = temporaryFolder()
  const back = `sqlite:${join(folder.path, 'back.db')}`
  const shown: unknown[] = [await everythingIn(shop.url)]
  for (const [from, to] of [
    [shop.url, first.url],
    [first.url, second.url],
    [second.url, back],
  ] as const) {
    const { status, output } = await run(['copy', from, to])
    expect({ status, output }).toEqual({ status: 0, output: expect.stringMatching(/^Copied and compared: 4 categor/) })
    shown.push(await everythingIn(to))
  }
  expect(shown[0]).not.toEqual([[], [], [], []])
  expect(shown.slice(1)).toEqual([shown[0], shown[0], shown[0]])
  // What no answer shows: hashes of passwords, the talk and the chat.
  expect(contentsOf(back)).toEqual(contentsOf(shop.url))
})

test('a user of the command-line chat logs in at the copy with the same password and finds their history', async () => {
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

test('what belongs to the chat on PostgreSQL alone is made, and the text of a growing answer is put together', async () => {
  await using shop = await oddShop()
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

test('an empty database is copied, too', async () => {
  for (const [from, to] of WAYS) {
    await using source = await migrated(from)
    await using target = await to.freshDatabase()
    await copied(source.url, target.url)
    await using service = await startService(target.url, { flags: FLAGS })
    const api = client(() => service.address)
    expect(await everythingOf(api), `${from.name} to ${to.name}`).toEqual([[], [], [], []])
    expect(await api.create('/products/', sample.product)).toBe(1)
  }
})

test('a copy goes on with the ids after the highest that was ever used, also by what was deleted since', async () => {
  for (const [from, to] of WAYS) {
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
    await copied(source.url, target.url)
    await using service = await startService(target.url, { flags: FLAGS })
    const api = client(() => service.address)
    expect(await api.create('/products/', sample.product), `${from.name} to ${to.name}`).toBe(4)
    expect(await api.create('/users/', sample.user), `${from.name} to ${to.name}`).toBe(3)
    expect(await api.create('/categories/', sample.category), `${from.name} to ${to.name}`).toBe(1)
  }
})

test('a copy has the indexes and the foreign keys of a database that was never filled at once', async () => {
  await using shop = await oddShop()
  for (const engine of ENGINES) {
    await using other = await migrated(engine)
    await using target = await engine.freshDatabase()
    await copied(shop.url, target.url)
    const shape = await shapeOf(other.url)
    expect(shape.length).toBeGreaterThan(10)
    expect(await shapeOf(target.url)).toEqual(shape)
  }
})

test('a copy of a database that is written to meanwhile is of one moment, after all that was acknowledged before', async () => {
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
    // A writer makes the review behind its product, so at one moment each writer is at most that one behind.
    expect(products.length - reviews.length).toBeLessThanOrEqual(WRITERS)
    expect(reviews.length).toBeLessThanOrEqual(products.length)
  }
})

test('a copy that is killed leaves the database empty, and is made by the next one', async () => {
  await using source = await sqlite.freshDatabase()
  const sizes = ['--products', '1000', '--users', '1000', '--reviews', String(MANY_REVIEWS)]
  expect(await run(['seed', '--database', source.url, ...sizes])).toMatchObject({ status: 0 })
  for (const engine of ENGINES) {
    await using target = await engine.freshDatabase()
    await killedAmidReviews(source.url, target.url)
    expect(await everythingIn(target.url), engine.name).toEqual([[], [], [], []])
    const { output } = await copied(source.url, target.url)
    expect(output).toContain(`${MANY_REVIEWS} reviews`)
    const [, , , reviews] = await everythingIn(target.url)
    expect(reviews).toHaveLength(MANY_REVIEWS)
  }
})

test('what arrives differently than it was sent is found, told, and not kept', async () => {
  await using shop = await oddShop()
  for (const [change, difference] of [
    ["NEW.comment := NEW.comment || ' '; RETURN NEW", 'another comment'],
    ['IF NEW.id = 2 THEN RETURN NULL; END IF; RETURN NEW', 'a row less'],
  ] as const) {
    await using target = await migrated(postgres)
    await using sql = connected(target.url)
    await sql.unsafe(
      `CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN ${change.replaceAll("'", "''")}; END'`,
    )
    await sql.unsafe('CREATE TRIGGER meddles BEFORE INSERT ON reviews FOR EACH ROW EXECUTE FUNCTION meddle()')
    const { status, output, errors } = await run(['copy', shop.url, target.url])
    expect({ difference, status, output }).toEqual({ difference, status: 1, output: '' })
    expect(errors).toMatch(/^stockroom: reviews arrived differently than it was sent .*nothing was copied$/m)
    expect(await everythingIn(target.url), difference).toEqual([[], [], [], []])
  }
})

test('a database that holds anything is not copied into, whatever it is, and stays as it is', async () => {
  await using shop = await oddShop()
  for (const engine of ENGINES) {
    await using target = await engine.freshDatabase()
    {
      await using service = await startService(target.url, { flags: FLAGS })
      await client(() => service.address).create('/categories/', sample.category)
    }
    const before = await everythingIn(target.url)
    expectRefusal(await run(['copy', shop.url, target.url]), { status: 1, reason: /TO is not empty/ }, engine.name)
    expect(await everythingIn(target.url)).toEqual(before)
  }
  await using talked = await sqlite.freshDatabase()
  await run(['talk', '--database', talked.url], { input: `R\nada\n${PASSWORD}\nquit\n` })
  expectRefusal(await run(['copy', shop.url, talked.url]), { status: 1, reason: /TO is not empty/ }, 'an account')
})

test('of two copies into one database at once one is made and the other is refused', async () => {
  await using shop = await oddShop()
  for (const engine of ENGINES) {
    await using target = await migrated(engine)
    const runs = await Promise.all([1, 2].map(() => run(['copy', shop.url, target.url])))
    expect(runs.map(({ status }) => status).sort(), engine.name).toEqual([0, 1])
    expect(await everythingIn(target.url)).toEqual(await everythingIn(shop.url))
  }
})

test('a database that is not there is not copied from, and not made', async () => {
  using folder = temporaryFolder()
  const target = `sqlite:${join(folder.path, 'to.db')}`
  const gone = await run(['copy', `sqlite:${join(folder.path, 'shop.db')}`, target])
  expectRefusal(gone, { status: 1, reason: /shop\.db/ })
  writeFileSync(join(folder.path, 'notes.txt'), 'Buy milk.\n'.repeat(100))
  expectRefusal(await run(['copy', `sqlite:${join(folder.path, 'notes.txt')}`, target]), {
    status: 1,
    reason: /notes\.txt is not a database/,
  })
  await using empty = await postgres.freshDatabase()
  expectRefusal(await run(['copy', empty.url, target]), { status: 1, reason: /has no tables of stockroom/ })
  await using sql = connected(empty.url)
  expect(await sql`SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace`).toHaveLength(0)
  const missing = new URL(empty.url)
  missing.pathname = 'nowhere'
  expectRefusal(await run(['copy', missing.href, target]), { status: 1, reason: /nowhere/ })
  expect(readdirSync(folder.path)).toEqual(['notes.txt'])
})

test('a database is not copied into itself, by whatever path it is reached', async () => {
  await using shop = await oddShop()
  const file = shop.url.slice('sqlite:'.length)
  linkSync(file, `${file}.linked`)
  symlinkSync(file, `${file}.symbolic`)
  for (const same of [shop.url, `sqlite:${file}.linked`, `sqlite:${file}.symbolic`, `sqlite://${file}`]) {
    expectRefusal(await run(['copy', shop.url, same]), { status: 2, reason: /same database/ }, same)
  }
  await using target = await migrated(postgres)
  expectRefusal(await run(['copy', target.url, target.url]), { status: 2, reason: /same database/ })
  // Under another name, it is found when it is used.
  const alias = target.url.replace('127.0.0.1', 'localhost')
  expectRefusal(await run(['copy', target.url, alias]), { status: 1, reason: /lock timeout/ })
})

test('two databases are needed, and no refusal repeats an address, which may hold a password', async () => {
  const secret = 'postgres://ada:sesame@127.0.0.1:1/shop'
  for (const [line, status, reason] of [
    [[], 2, /FROM and TO/],
    [[secret], 2, /FROM and TO/],
    [[secret, secret, secret], 2, /one FROM and one TO/],
    [[secret.replace('postgres', 'mysql'), secret], 2, /FROM: .*sqlite:PATH/],
    [['sqlite:shop.db', `${secret}?sslmode=sesame`], 2, /TO: sslmode/],
    [['sqlite:', secret], 2, /FROM: /],
    [[secret, 'sqlite:shop.db'], 1, /127\.0\.0\.1:1\/shop/],
  ] as const) {
    using folder = temporaryFolder()
    const refused = await run(['copy', ...line], { folder: folder.path })
    expectRefusal(refused, { status, reason }, line.join(' '))
    expect(refused.errors).not.toContain('sesame')
    expect(readdirSync(folder.path)).toEqual([])
  }
})

test('the password of PostgreSQL is taken from the environment where the address has none', async () => {
  await using shop = await oddShop()
  await using target = await postgres.freshDatabase()
  const url = new URL(target.url)
  const password = decodeURIComponent(url.password)
  url.password = ''
  expect((await run(['copy', shop.url, url.href])).status).toBe(1)
  const ran = await run(['copy', shop.url, url.href], { environment: { DATABASE_PASSWORD: password } })
  expect(ran).toMatchObject({ status: 0 })
})

test('a copied SQLite file is made for its owner alone', async () => {
  await using shop = await oddShop()
  using folder = temporaryFolder()
  const file = join(folder.path, 'copy.db')
  await copied(shop.url, `sqlite:${file}`)
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
  expect(existsSync(`${file}-wal`)).toBe(false)
})

test('how far a copy is, is shown as a bar at a terminal and as a line for each table elsewhere', async () => {
  await using shop = await oddShop()
  using folder = temporaryFolder()
  const { errors } = await copied(shop.url, `sqlite:${join(folder.path, 'plain.db')}`)
  expect(errors).toContain('reviews: 3\n')
  expect(errors).toContain('reviews, checked: 3\n')
  const { status, screen } = await runAtTerminal(['copy', shop.url, `sqlite:${join(folder.path, 'shown.db')}`])
  expect(status).toBe(0)
  expect(screen).toMatch(/reviews +█{30} 3\/3/)
})

/** Runs a copy that must succeed. */
async function copied(from: string, to: string): Promise<Run> {
  const ran = await run(['copy', from, to])
  expect(ran.status, ran.errors).toBe(0)
  expect(ran.output).toMatch(/^Copied and compared: .*\n$/)
  return ran
}

/** Users are copied before reviews, and a line is printed behind each table. */
async function killedAmidReviews(from: string, to: string): Promise<void> {
  const child = spawn(commandLine(['copy', from, to], {}), { ...surroundingsOf({}), stdout: 'pipe', stderr: 'pipe' })
  let errors = ''
  for await (const bytes of child.stderr) {
    errors += new TextDecoder().decode(bytes)
    if (errors.includes('users: ')) child.kill('SIGKILL')
  }
  await child.exited
  expect(errors).not.toContain('checked')
  expect({ signal: child.signalCode, output: await child.stdout.text() }).toEqual({ signal: 'SIGKILL', output: '' })
}

/** An empty database with its tables. */
async function migrated(engine: Engine): Promise<AsyncDisposable & { readonly url: string }> {
  const database = await engine.freshDatabase()
  await makeTables(database.url)
  return database
}

/** Makes the tables of all parts, as each command makes those of its own part alone. */
async function makeTables(url: string): Promise<void> {
  const settings = { address: databaseSetting.parse(url), replicas: [], connections: 1 }
  await using database = await openDatabase(settings, [catalogMigrations, chatMigrations, talkMigrations])
  await database.ready
}

/** A database of SQLite, whose service has ended, with all that a copy could get wrong. */
async function oddShop(): Promise<AsyncDisposable & { readonly url: string }> {
  const database = await sqlite.freshDatabase()
  {
    await using service = await startService(database.url, { flags: FLAGS })
    await fill(client(() => service.address))
  }
  await makeTables(database.url)
  fillChatAndTalk(database.url)
  return database
}

const ODD_TEXTS = [
  '\\N is \\. no "null", \\t no tab, and this is \\\\ one\\',
  '\ufefftab \t, line feed \n, return \r, both \r\n, \b \f \v \u001b[0m, and a blank at the end ',
  'ﬀ ß İ 名前 👩‍👩‍👧‍👦 e\u0301 \u202eright to left\u202c \uffff \u{10ffff}',
  `${"'; DROP TABLE reviews; --".repeat(2)}\u2028\u2029\u0085\u00a0`,
]
const ODD_PRICES = [
  5e-324,
  2.2250738585072014e-308,
  1.7976931348623157e308,
  0.1,
  0.30000000000000004,
  1e23,
  9007199254740992,
  1e15,
  1e21,
  123456789012345680,
  4.35,
  1e-5,
  9.5367431640625e-7,
  2 ** -1022,
  2 ** 60,
  1 / 3,
  8.41e21,
  9.409340012568248e18,
  5e-7,
]
const LONG_COMMENT = 'Digs well. \\\t\n'.repeat(60_000)

async function fill(api: Client): Promise<void> {
  const categories: number[] = []
  for (const text of ODD_TEXTS) {
    categories.push(
      await api.create('/categories/', { name: [...text].slice(0, 40).join(''), description: text.slice(0, 50) }),
    )
  }
  const products: number[] = []
  for (const [place, price] of ODD_PRICES.entries()) {
    const text = ODD_TEXTS[place % ODD_TEXTS.length] ?? ''
    const product = { name: [...text].slice(0, 30).join(''), description: text, price }
    products.push(await api.create(place % 2 === 0 ? '/products/' : `/products/${categories[0]}/products`, product))
  }
  const flags = {
    is_active: 2 ** 53 - 1,
    is_admin: -(2 ** 53 - 1),
    is_banned: 0,
    is_blocked: -1,
    is_deleted: 2 ** 31,
    is_suspended: -(2 ** 31) - 1,
    is_verified: 7,
  }
  const users = [
    await api.create('/users/', { ...sample.user, ...flags, name: '名前 \\N\t', avatar: '\\' }),
    await api.create('/users/', { ...sample.user, password: '' }),
    await api.create('/users/', { ...sample.user, password: 'ﬀ\n\\' }),
  ]
  await api.create('/reviews/', { ...sample.review(products[1] ?? 0, users[0] ?? 0), comment: LONG_COMMENT })
  await api.create('/reviews/', { ...sample.review(products[2] ?? 0, users[0] ?? 0), comment: ODD_TEXTS[1] })
  await api.create('/reviews/', { ...sample.review(products[2] ?? 0, users[1] ?? 0), comment: ODD_TEXTS[2] })
  // Gaps, and the highest ids of all.
  await api.create('/reviews/', sample.review(products[2] ?? 0, users[2] ?? 0))
  await api.delete(`/products/${products.at(-1)}`)
  await api.delete(`/products/${products[5]}`)
  await api.delete(`/users/${users[2]}`)
}

/** As they are stored, since their times and the texts of answers are not at a client's choice. */
function fillChatAndTalk(url: string): void {
  using database = new Database(url.slice('sqlite:'.length), { strict: true })
  const insert = (table: string, row: Record<string, string | number | null>) =>
    database.run(
      `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${Object.keys(row)
        .map(() => '?')
        .join(', ')})`,
      Object.values(row),
    )
  const states = ['finished', 'stopped', 'unheard', 'interrupted', 'failed']
  for (const [place, state] of states.entries()) {
    const req_id = ['zebra', 'Äpfel', 'äpfel', 'Zebra', '👍 \\N'][place] ?? ''
    const time = MILLISECONDS + place * 1_001
    insert('prompts', { req_id, text: ODD_TEXTS[place % 4] ?? '', created_at: time })
    const failure = state === 'failed' ? 'The model\nis gone.' : null
    insert('answers', {
      ...{ req_id, state, failure, text: ODD_TEXTS[(place + 1) % 4] ?? '', stop_asked: place % 2 },
      ...{ alive_at: time + 1, heard_at: time + 2 },
    })
  }
  insert('prompts', { req_id: 'never answered', text: 'Why?', created_at: 1 })
  for (const [place, username] of ['zoe', 'ada', 'Ada', 'Öland', 'ﬀ\\'].entries()) {
    insert('accounts', { username, password_sha256: String(place).repeat(64), created_at: MILLISECONDS + place })
    insert('rooms', { name: username })
    const prompt = { room: username, sender: username, text: ODD_TEXTS[place % 4] ?? '', sent_at: MILLISECONDS }
    const { lastInsertRowid } = insert('messages', prompt)
    const answer = { room: username, sender: 'ai', text: '', sent_at: MILLISECONDS + 999 }
    insert('messages', { ...answer, answer_to: Number(lastInsertRowid), stopped: place % 2 })
  }
  database.run('DELETE FROM messages WHERE id = 10')
}

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
    counters: all('SELECT * FROM sqlite_sequence ORDER BY name'),
  }
}

/** The indexes and the constraints of a database, as it describes them itself. */
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

/** What a service shows that is started on it. */
async function everythingIn(url: string): Promise<z.output<typeof Items>[]> {
  await using service = await startService(url, { flags: FLAGS })
  return await everythingOf(client(() => service.address))
}

async function everythingOf(api: Client): Promise<z.output<typeof Items>[]> {
  const answers = await Promise.all(COLLECTIONS.map(path => api.get(`${path}?limit=1000000`)))
  return answers.map(({ body }) => Items.parse(body))
}
