import { expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import { client } from '../../test/harness/client.ts'
import { onCitus } from '../../test/harness/contract.ts'
import { postgres, sqlite } from '../../test/harness/engines.ts'
import { createCitusDatabase } from '../../test/harness/postgres/citus.ts'
import { expectRefusal } from '../../test/harness/refusal.ts'
import { sample } from '../../test/harness/samples.ts'
import { run, startService } from '../../test/harness/service.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']
const SEEDED = ['--products', '30', '--categories', '4', '--users', '12', '--reviews', '400']

const DISTRIBUTED = 'SELECT logicalrelid::text AS name FROM pg_dist_partition ORDER BY 1'

const distribute = (url: string) => run(['distribute', '--database', url])

test('a database that cannot be distributed is refused in one line', async () => {
  await using file = await sqlite.freshDatabase()
  expectRefusal(await distribute(file.url), { status: 2, reason: /only a PostgreSQL database can be distributed/ })
  await using plain = await postgres.freshDatabase()
  expectRefusal(await distribute(plain.url), { status: 1, reason: /has no tables of stockroom/ })
  const seed = ['seed', '--database', plain.url, '--products', '1']
  await run(seed)
  expectRefusal(await distribute(plain.url), { status: 1, reason: /has no Citus.*CREATE EXTENSION citus/ })
  const refused = await run(seed, { environment: { DATABASE_DISTRIBUTION: 'citus' } })
  expectRefusal(refused, { status: 1, reason: /has data that is not distributed yet; run stockroom distribute/ })
})

test('a start that shall distribute a database on a server without Citus is refused in one line', async () => {
  await using database = await postgres.freshDatabase()
  const started = await run(['serve', '--database', database.url, '--port', '0'], {
    environment: { DATABASE_DISTRIBUTION: 'citus' },
  })
  expectRefusal(started, { status: 1, reason: /has no Citus.*CREATE EXTENSION citus/ })
})

onCitus('stockroom distribute', coordinator => {
  test('gives the same answers before and after, says what it does, and refuses a second run', async () => {
    await using database = await createCitusDatabase(coordinator, { isDistributed: false })
    await run(['seed', '--database', database.url, ...SEEDED])
    // Another program has chosen ids for its rows.
    await postgres.write(
      database.url,
      `INSERT INTO products (id, name, description, price) VALUES (40, 'Rake', 'Steel', 5);
      INSERT INTO reviews (id, product_id, user_id, rating, comment) VALUES (500, 40, 1, 4, 'Rakes well')`,
    )
    const before = await answersOf(database.url)
    expect(before.size).toBeGreaterThan(400)

    const { status, output, errors } = await distribute(database.url)
    expect({ status, errors }).toEqual({ status: 0, errors: expect.stringMatching(/31 products, 401 reviews/) })
    expect(errors).toMatch(/takes about \d+ s/)
    expect(errors).toMatch(/^reviews: 401$/m)
    expect(output).toMatch(/^Distributed over \d+ servers? in \d+ s: .*12 users.*401 reviews/)
    expect(await postgres.read(database.url, DISTRIBUTED)).toEqual(
      ['categories', 'product_ratings', 'products', 'reviews', 'users'].map(name => ({ name })),
    )

    const left = 'SELECT sum(pg_relation_size(logicalrelid))::int AS bytes FROM pg_dist_partition'
    expect(await postgres.read(database.url, left)).toEqual([{ bytes: 0 }])
    expect(await answersOf(database.url)).toEqual(before)
    expectRefusal(await distribute(database.url), { status: 1, reason: /is distributed already/ })

    await using service = await startService(database.url, { flags: FLAGS })
    const api = client(() => service.address)
    const [product, user] = [await api.create('/products/', sample.product), await api.create('/users/', sample.user)]
    expect([product, user]).toEqual([41, 13])
    expect(await api.create('/reviews/', sample.review(product, user))).toBe(501)
  })

  test('creates its tables in the schema of the others, also if the search path begins with a newer one', async () => {
    await using database = await createCitusDatabase(coordinator, { isDistributed: false })
    await run(['seed', '--database', database.url, ...SEEDED])
    await postgres.write(database.url, 'CREATE SCHEMA newer')
    await postgres.write(database.url, `ALTER DATABASE ${database.name} SET search_path = newer, public`)
    expect(await distribute(database.url)).toMatchObject({ status: 0 })
    const newer = "SELECT relname FROM pg_class WHERE relnamespace = 'newer'::regnamespace"
    expect(await postgres.read(database.url, newer)).toEqual([])
    await using service = await startService(database.url, { flags: FLAGS })
    expect(await client(() => service.address).create('/products/', sample.product)).toBe(31)
  })

  test('is not needed for a new database, which nodes that start at the same moment distribute once', async () => {
    await using database = await createCitusDatabase(coordinator, { isDistributed: false })
    const environment = { DATABASE_DISTRIBUTION: 'citus' }
    const starting = await Promise.all([1, 2, 3].map(() => startService(database.url, { flags: FLAGS, environment })))
    await using open = new AsyncDisposableStack()
    for (const service of starting) open.use(service)
    const product = await client(() => starting[0]?.address ?? '').create('/products/', sample.product)
    for (const { address } of starting) {
      expect(await client(() => address).get(`/products/${product}`)).toMatchObject({ status: 200 })
    }
    expect(await postgres.read(database.url, DISTRIBUTED)).toHaveLength(5)
  })

  test('changes nothing if it fails', async () => {
    await using database = await createCitusDatabase(coordinator, { isDistributed: false })
    await run(['seed', '--database', database.url, ...SEEDED])
    const before = await answersOf(database.url)
    // Citus distributes no table with a trigger of another program, and reaches it after others.
    await postgres.write(
      database.url,
      'CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$',
    )
    await postgres.write(
      database.url,
      'CREATE TRIGGER watched BEFORE UPDATE ON reviews FOR EACH ROW EXECUTE FUNCTION watch()',
    )
    const { status, errors } = await distribute(database.url)
    expect({ status, errors }).toEqual({
      status: 1,
      errors: expect.stringMatching(/^stockroom: nothing was distributed: .*trigger/m),
    })
    expect(await postgres.read(database.url, DISTRIBUTED)).toEqual([])
    expect(await answersOf(database.url)).toEqual(before)
  })

  test('refuses a database that a server uses, one without workers, and one of another role', async () => {
    await using database = await createCitusDatabase(coordinator, { isDistributed: false })
    {
      await using service = await startService(database.url, { flags: FLAGS })
      await client(() => service.address).create('/products/', sample.product)
      expectRefusal(await distribute(database.url), { status: 1, reason: /in use by \d+ other sessions \(stockroom\)/ })
    }
    const role = `guest_${crypto.randomUUID().replaceAll('-', '')}`
    for (const sql of [
      `CREATE ROLE ${role} LOGIN`,
      `GRANT ALL ON SCHEMA public TO ${role}`,
      `GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`,
    ]) {
      await postgres.write(database.url, sql)
    }
    const asGuest = new URL(database.url)
    asGuest.username = role
    expectRefusal(await distribute(asGuest.href), { status: 1, reason: /must be owner of table/ })
    await postgres.write(database.url, `DROP OWNED BY ${role}`)
    await postgres.write(database.url, `DROP ROLE ${role}`)
    await postgres.read(
      database.url,
      'SELECT citus_remove_node(nodename, nodeport) FROM pg_dist_node WHERE groupid > 0',
    )
    expectRefusal(await distribute(database.url), { status: 1, reason: /knows no worker/ })
    expect(await postgres.read(database.url, DISTRIBUTED)).toEqual([])
  })
})

/** The bodies and tags of all resources, of lists, and of the index. */
async function answersOf(url: string): Promise<Map<string, readonly [body: string, tag: string | null]>> {
  await using service = await startService(url, { flags: FLAGS })
  const answers = new Map<string, readonly [string, string | null]>()
  const get = async (path: string) => {
    const response = await fetch(service.address + path)
    answers.set(path, [await response.text(), response.headers.get('ETag')])
    return answers.get(path)?.[0] ?? ''
  }
  for (const list of ['categories', 'products', 'users', 'reviews']) {
    const items = z.array(z.object({ id: z.int() })).parse(JSON.parse(await get(`/${list}/?limit=1000`)))
    for (const { id } of items) await get(`/${list}/${id}`)
    if (list === 'products') for (const { id } of items) await get(`/ratings/products/${id}`)
    if (list === 'users') for (const { id } of items) await get(`/reviews/users/${id}`)
  }
  for (const order of ['price', '-name', 'rating', '-reviews']) await get(`/products/?sort=${order}&limit=30`)
  return answers
}
