import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { spawn } from 'bun'
import { createMany } from '../../../test/harness/catalog/created.ts'
import { client } from '../../../test/harness/client.ts'
import { countSkippedOnCitus } from '../../../test/harness/contract.ts'
import { migrated } from '../../../test/harness/copy/odd-shop.ts'
import { citus, ENGINES, type Engine, sqlite } from '../../../test/harness/engines.ts'
import { expectRefusal } from '../../../test/harness/refusal.ts'
import { sample } from '../../../test/harness/samples.ts'
import { commandLine, run, startService, surroundingsOf } from '../../../test/harness/service.ts'
import { type TemporaryFolder, temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

countSkippedOnCitus()

/** The signals that interrupt an export in order, and its exit status. */
const INTERRUPTIONS = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ...(process.platform === 'linux' ? ([['SIGHUP', 129]] as const) : []),
] as const

type Shop = AsyncDisposable & { readonly url: string }

const TEXTS = ['', 'plain', ' a, "b"\r\nc\n', 'a\rb', 'Grün 🌱', '=1+1', '\t\\N;', '\u2028\u0001', 'null']
const PRICES = [0.1 + 0.2, 1e-7, 5, 1e21, 134.5]
const FORMATS = [
  { format: 'ndjson', flags: [] },
  { format: 'csv', flags: ['--password-hashes'] },
] as const

/** Enough for many writes during an export. */
const PRODUCTS = 10_000

/** With it, the export of so many products fills every buffer between the database and its reader. */
const LONG_DESCRIPTION = 'x'.repeat(4_000)

/** Enough for an export not to be over when its first file is there. */
const MANY_PRODUCTS = 50_000

/** A shop with all that could be written in more than one way. Exports only read it. */
async function oddShop(engine: Engine): Promise<Shop> {
  const database = await engine.freshDatabase()
  await using service = await startService(database.url, { flags: ['--access-log', 'off'] })
  const api = client(() => service.address)
  await api.create('/categories/', { ...sample.category, name: 'Garden, "big"' })
  for (const price of PRICES) await api.create('/products/', { ...sample.product, price })
  await api.create('/products/1/products', { ...sample.product, description: '' })
  await api.create('/users/', { ...sample.user, is_banned: 1 })
  for (const comment of TEXTS) await api.create('/reviews/', { ...sample.review(1, 1), comment })
  // On Citus, the last of the ids that are read at once.
  await createMany(api, '/products/', [{ ...sample.product, id: 10_000 }])
  await api.delete('/reviews/2')
  return database
}

/** A shop of products. Much faster than `seed`, whose data is random. */
async function productShop(engine: Engine, count: number, description = 'Steel, with an ash handle'): Promise<Shop> {
  const database = await migrated(engine)
  const [column, id] = engine === citus ? ['id, ', "nextval('products_id_seq'), "] : ['', '']
  await engine.write(
    database.url,
    `INSERT INTO products (${column}name, price, description)
    WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${count})
    SELECT ${id}'Product ' || i, 1.5, '${description}' FROM numbers`,
  )
  return database
}

async function exported(url: string, to: string, flags: readonly string[] = []) {
  expect(await run(['export', '--database', url, ...flags, to])).toMatchObject({ status: 0 })
}

function contentsOf(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder)
      .toSorted()
      .map(name => [name, readFileSync(join(folder, name), 'utf8')]),
  )
}

async function importedInto(url: string, folder: string): Promise<void> {
  expect(await run(['import', '--database', url, folder])).toMatchObject({ status: 0 })
}

describe.each(ENGINES)('on $name', engine => {
  let shop: Shop
  beforeAll(async () => {
    shop = await oddShop(engine)
  })
  afterAll(() => shop[Symbol.asyncDispose]())

  for (const { format, flags } of FORMATS) {
    test(`an export as ${format} that is imported elsewhere is exported the same, byte for byte`, async () => {
      using folder = temporaryFolder()
      for (const other of ENGINES.filter(one => one !== engine)) {
        const [first, second] = [join(folder.path, `to ${other.name}`), join(folder.path, `from ${other.name}`)]
        await exported(shop.url, first, ['--format', format, ...flags])
        await using copy = await other.freshDatabase()
        await importedInto(copy.url, first)
        await exported(copy.url, second, ['--format', format, ...flags])
        expect(contentsOf(second), other.name).toEqual(contentsOf(first))
      }
    })
  }

  test('an export shows each row with its id, and no password', async () => {
    using folder = temporaryFolder()
    await exported(shop.url, join(folder.path, 'shop'))
    const files = contentsOf(join(folder.path, 'shop'))
    expect(Object.keys(files)).toEqual(['categories.ndjson', 'products.ndjson', 'reviews.ndjson', 'users.ndjson'])
    const { description } = sample.product
    expect(files['products.ndjson']?.split('\n')[0]).toBe(
      JSON.stringify({ id: 1, category_id: null, name: 'Spade', description, price: PRICES[0] }),
    )
    expect(JSON.parse(files['users.ndjson'] ?? '')).toEqual({
      id: 1,
      ...sample.user,
      password: '**********',
      is_active: 1,
      is_admin: 0,
      is_banned: 1,
      is_blocked: 0,
      is_deleted: 0,
      is_suspended: 0,
      is_verified: 0,
    })
    for (const name of ['shop', 'shop/users.ndjson']) expect(statSync(join(folder.path, name)).mode & 0o077).toBe(0)
    await exported(shop.url, join(folder.path, 'users.csv'), ['--password-hashes'])
    expect(readFileSync(join(folder.path, 'users.csv'), 'utf8')).toMatch(/,password_hash,.*\n.*,"\$argon2id\$v=19/)
  })

  test('all files of an export are of one moment', async () => {
    await using products = await productShop(engine, PRODUCTS)
    using folder = temporaryFolder()
    await using service = await startService(products.url, { flags: ['--access-log', 'off'] })
    const api = client(() => service.address)
    const user = await api.create('/users/', sample.user)
    const whole = join(folder.path, 'shop')
    let isDone = false
    const exporting = exported(products.url, whole).finally(() => {
      isDone = true
    })
    // Each of these reviews refers to a product that is made just before it.
    while (!isDone) await api.create('/reviews/', sample.review(await api.create('/products/', sample.product), user))
    await exporting
    const linesOf = (name: string) => readFileSync(join(whole, `${name}.ndjson`), 'utf8').split('\n').length - 1
    expect(linesOf('products')).toBeGreaterThanOrEqual(PRODUCTS)
    expect([0, 1]).toContain(linesOf('products') - PRODUCTS - linesOf('reviews'))
  })

  test('an export ends when its reader has seen enough', async () => {
    await using shop = await productShop(engine, PRODUCTS, LONG_DESCRIPTION)
    const child = spawn(commandLine(['export', '--database', shop.url, '--resource', 'products'], {}), {
      ...surroundingsOf({}),
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const reader = child.stdout.getReader()
    await reader.read()
    await reader.cancel()
    expect([await child.exited, await child.stderr.text()]).toEqual([0, ''])
  })
})

test('one resource is written to standard output', async () => {
  await using shop = await migrated(sqlite)
  await sqlite.write(
    shop.url,
    `INSERT INTO categories (name, description) VALUES ('Garden, "big"', 'All for the garden')`,
  )
  const only = ['export', '--database', shop.url, '--resource', 'categories']
  expect((await run(only)).output).toBe('{"id":1,"name":"Garden, \\"big\\"","description":"All for the garden"}\n')
  expect((await run([...only, '--format', 'csv', '-'])).output).toBe(
    'id,name,description\n1,"Garden, ""big""",All for the garden\n',
  )
  expectRefusal(await run(['export', '--database', shop.url]), {
    status: 2,
    reason: /a new folder, or a new file such as products\.csv; or use --resource/,
  })
})

test('the last extension of a file decides how it is written', async () => {
  using folder = temporaryFolder()
  await using shop = await migrated(sqlite)
  const csv = join(folder.path, 'categories.2024-11.csv')
  expect(await run(['export', '--database', shop.url, csv])).toMatchObject({ status: 0 })
  expect(readFileSync(csv, 'utf8')).toBe('id,name,description\n')
})

test('an export names its folder with or without a slash at the end', async () => {
  await using database = await sqlite.freshDatabase()
  await run(['seed', '--database', database.url, '--products', '3', '--users', '1', '--reviews', '0'])
  using folder = temporaryFolder()
  const place = `${join(folder.path, 'shop')}/`
  expect(await run(['export', '--database', database.url, place])).toMatchObject({ status: 0 })
  expect(readdirSync(folder.path)).toEqual(['shop'])
  expect(readdirSync(place)).toHaveLength(4)
})

test('an export overwrites nothing, and makes no database', async () => {
  using folder = temporaryFolder()
  await using shop = await migrated(sqlite)
  const to = join(folder.path, 'shop')
  await exported(shop.url, to)
  expectRefusal(await run(['export', '--database', shop.url, to]), { status: 1, reason: /already exists/ })
  const missing = `sqlite:${join(folder.path, 'missing.db')}`
  const refused = await run(['export', '--database', missing, join(folder.path, 'other')])
  expectRefusal(refused, { status: 1, reason: /missing\.db/ })
  expect(readdirSync(folder.path)).toEqual(['shop'])
})

test('an export to a kind of file that it does not write is refused, instead of making a folder of that name', async () => {
  using folder = temporaryFolder()
  for (const name of [
    'products.ndjson.gz',
    'users.CSV.GZ',
    'products.json',
    'products.jsonl',
    'products.xlsx',
    'users.tsv',
    'shop.zip',
  ]) {
    const refused = await run(['export', name], { folder: folder.path })
    expectRefusal(refused, { status: 2, reason: /: export writes \.ndjson or \.csv/ }, name)
  }
})

test('an export that is interrupted leaves nothing', async () => {
  using folder: TemporaryFolder = temporaryFolder()
  await using shop = await productShop(sqlite, MANY_PRODUCTS)
  for (const [signal, status] of INTERRUPTIONS) {
    await until(async () => {
      const child = spawn(commandLine(['export', '--database', shop.url, join(folder.path, 'shop')], {}), {
        ...surroundingsOf({}),
        stdout: 'ignore',
        stderr: 'ignore',
      })
      while (readdirSync(folder.path).length === 0) await Bun.sleep(5)
      child.kill(signal)
      await child.exited
      // If the machine pauses, an export may end before it is interrupted.
      if (child.exitCode === 0) rmSync(join(folder.path, 'shop'), { recursive: true })
      else expect(child.exitCode).toBe(status)
      expect(existsSync(folder.path) && readdirSync(folder.path)).toEqual([])
      return child.exitCode !== 0
    })
  }
})
