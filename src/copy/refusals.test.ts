import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { linkSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { countSkippedOnCitus } from '../../test/harness/contract.ts'
import { everythingIn } from '../../test/harness/copy/copied.ts'
import { migrated, oddShop, PASSWORD, sizesIn } from '../../test/harness/copy/odd-shop.ts'
import { ENGINES, postgres, sqlite } from '../../test/harness/engines.ts'
import { connected } from '../../test/harness/postgres/database.ts'
import { expectRefusal } from '../../test/harness/refusal.ts'
import { run } from '../../test/harness/service.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'

setDefaultTimeout(120_000)

countSkippedOnCitus()

/** Copies only read it. */
let shop: Awaited<ReturnType<typeof oddShop>>
beforeAll(async () => {
  shop = await oddShop()
})
afterAll(() => shop[Symbol.asyncDispose]())

test('a copy into a database that holds anything is refused, and leaves it as it was', async () => {
  for (const engine of ENGINES) {
    await using target = await migrated(engine)
    await engine.write(target.url, "INSERT INTO categories (id, name, description) VALUES (7, 'Garden', 'All of it')")
    expectRefusal(await run(['copy', shop.url, target.url]), { status: 1, reason: /TO is not empty/ }, engine.name)
    expect(await sizesIn(engine, target.url)).toEqual([1, 0, 0, 0])
    expect(
      await engine.read(target.url, 'SELECT CAST(id AS integer) AS id, name, description FROM categories'),
    ).toEqual([{ id: 7, name: 'Garden', description: 'All of it' }])
  }
  await using talked = await sqlite.freshDatabase()
  await run(['talk', '--database', talked.url], { input: `R\nada\n${PASSWORD}\nquit\n` })
  expectRefusal(await run(['copy', shop.url, talked.url]), { status: 1, reason: /TO is not empty/ }, 'an account')
})

test('of two copies into one database at once, one succeeds and the other is refused', async () => {
  const original = await everythingIn(shop.url)
  for (const engine of ENGINES) {
    await using target = await migrated(engine)
    const runs = await Promise.all([1, 2].map(() => run(['copy', shop.url, target.url])))
    expect(runs.map(({ status }) => status).sort(), engine.name).toEqual([0, 1])
    expect(await everythingIn(target.url)).toEqual(original)
  }
})

test('no time limit of the one database applies while the copy waits for the other, which may sort many rows or create indexes', async () => {
  await using target = await migrated(postgres)
  await postgres.write(
    target.url,
    `CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'limit %', current_setting('idle_in_transaction_session_timeout'); END $$;
    CREATE TRIGGER tell BEFORE INSERT ON categories FOR EACH STATEMENT EXECUTE FUNCTION tell()`,
  )
  const { status, errors } = await run(['copy', shop.url, target.url])
  expect([status, errors]).toEqual([1, expect.stringMatching(/TO refused a row .*: limit 0\b/)])
  // Of FROM, something that is read tells of it.
  await postgres.write(
    target.url,
    `DROP TRIGGER tell ON categories;
    INSERT INTO categories (name, description) VALUES ('Garden', '');
    ALTER TABLE categories RENAME TO told;
    CREATE FUNCTION told() RETURNS boolean LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'limit %', current_setting('idle_in_transaction_session_timeout'); END $$;
    CREATE VIEW categories AS SELECT * FROM told WHERE told()`,
  )
  using folder = temporaryFolder()
  const reading = await run(['copy', target.url, `sqlite:${join(folder.path, 'shop.db')}`])
  expect(reading).toMatchObject({ status: 1, errors: expect.stringMatching(/limit 0\b/) })
})

test('a copy into tables that another program uses fails after a while, and does not wait forever', async () => {
  await using target = await migrated(postgres)
  await using other = connected(target.url)
  await other.unsafe('BEGIN; LOCK TABLE categories IN ACCESS SHARE MODE')
  expectRefusal(await run(['copy', shop.url, target.url]), { status: 1, reason: /lock timeout/ })
})

test('a copy from a missing database is refused, and does not create it', async () => {
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

test('a copy of rows that other programs wrote and the target refuses says why in one line, and copies nothing', async () => {
  const user = "INSERT INTO users VALUES (1, 'Ada', 'ada@example.com', '', 1, 0, 0, 0, 0, 0, 0, '', 1)"
  const orphan = "INSERT INTO reviews VALUES (1, 7, 1, 5, 'Good.', 1)"
  const withNul = "INSERT INTO categories VALUES (1, 'Garden' || char(0), 'All of it', 1)"
  const tooMuch = "INSERT INTO products VALUES (1, NULL, 'Spade', 9e999, 'For digging', 1)"
  for (const [engine, written, reason] of [
    [sqlite, [user, orphan], 'FOREIGN KEY constraint failed; PRAGMA foreign_key_check lists such rows'],
    [postgres, [user, orphan], '.* violates foreign key constraint .*'],
    [postgres, [withNul], 'invalid byte sequence .* \\(COPY categories, line 1.*\\)'],
    [postgres, [tooMuch], '.* violates check constraint .* \\(COPY products, line 1\\)'],
  ] as const) {
    await using source = await migrated(sqlite)
    await using target = await migrated(engine)
    {
      // As in the shell of SQLite, where foreign keys are off.
      using file = new Database(source.url.slice('sqlite:'.length))
      file.run('PRAGMA foreign_keys = OFF')
      for (const sql of written) file.run(sql)
    }
    const { status, errors } = await run(['copy', source.url, target.url])
    expect({ status, last: errors.trim().split('\n').at(-1) }, reason).toEqual({
      status: 1,
      last: expect.stringMatching(
        new RegExp(`^stockroom: TO refused a row of FROM, so nothing was copied: ${reason}$`),
      ),
    })
    expect(await sizesIn(engine, target.url)).toEqual([0, 0, 0, 0])
  }
})

test('a copy of a database into itself is refused, by whatever path it is reached', async () => {
  const file = shop.url.slice('sqlite:'.length)
  linkSync(file, `${file}.linked`)
  symlinkSync(file, `${file}.symbolic`)
  for (const same of [shop.url, `sqlite:${file}.linked`, `sqlite:${file}.symbolic`, `sqlite://${file}`]) {
    expectRefusal(await run(['copy', shop.url, same]), { status: 2, reason: /same database/ }, same)
  }
  await using target = await migrated(postgres)
  expectRefusal(await run(['copy', target.url, target.url]), { status: 2, reason: /same database/ })
  // Under another name, the copy finds it out when it uses the database.
  const alias = target.url.replace('127.0.0.1', 'localhost')
  expectRefusal(await run(['copy', target.url, alias]), { status: 1, reason: /lock timeout/ })
})

test('copy needs two databases, and no refusal repeats an address, which may hold a password', async () => {
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
