import { expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import { postKeyed } from '../../../test/harness/catalog/keyed.ts'
import { type Answer, type Client, client } from '../../../test/harness/client.ts'
import { backendsOf, pauseBackends } from '../../../test/harness/postgres/backends.ts'
import { connected, createDatabase } from '../../../test/harness/postgres/database.ts'
import { openedDatabase } from '../../../test/harness/postgres/opened.ts'
import { sharedServerUrl } from '../../../test/harness/postgres/shared-server.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService } from '../../../test/harness/service.ts'
import { until } from '../../../test/harness/until.ts'

/** When a write takes effect, and when it is acknowledged. */

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']

/** Enough updates at once that each connection of a node has prepared the statement. */
const UPDATES = 200

/** Time for a node to send a statement. If it takes longer, the test tries again. */
const SENT_WITHIN_MS = 200

const BEFORE = 1
const LATE = 2
const AFTER = 3

/** Fails each commit that changes a product. The statement itself succeeds, and PostgreSQL says so before the commit. */
const FAILING_COMMITS = `
  CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no commit' USING ERRCODE = 'lock_not_available'; END $$;
  CREATE CONSTRAINT TRIGGER failing AFTER INSERT OR UPDATE OR DELETE ON products DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION fail()`

const Priced = z.object({ price: z.number() })

test('a write that succeeds until its commit fails is not acknowledged, and changes nothing', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  const id = await api.create('/products/', sample.product)
  const before = await api.get('/products/')
  {
    await using sql = connected(database.url)
    await sql.unsafe(FAILING_COMMITS)
  }
  const { status: keyed } = await postKeyed(api, { key: 'one', path: '/products/', body: sample.product })
  const others = await Promise.all([
    update(api, id, LATE),
    api.post('/products/', sample.product),
    api.delete(`/products/${id}`),
  ])
  expect([keyed, ...others.map(({ status }) => status)]).toEqual([503, 503, 503, 503])
  const after = await api.get('/products/')
  expect(after.body).toEqual(before.body)
})

test('a write that conflicts with others is tried again until it succeeds, but not without end', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  await using sql = connected(database.url)
  await sql.unsafe(`
    CREATE SEQUENCE tries;
    CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.name = 'Never' OR nextval('tries') % 3 <> 0 THEN
        RAISE EXCEPTION 'conflict' USING ERRCODE = NEW.description;
      END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER conflict BEFORE INSERT OR UPDATE ON categories FOR EACH ROW EXECUTE FUNCTION conflict()`)
  for (const description of ['deadlock_detected', 'serialization_failure']) {
    const id = await api.create('/categories/', { name: 'Spades', description })
    expect((await api.put(`/categories/${id}`, { name: 'Rakes', description })).status, description).toBe(200)
  }
  expect(await api.post('/categories/', { name: 'Never', description: 'deadlock_detected' })).toMatchObject({
    status: 503,
  })
  expect((await api.get('/categories/')).body).toHaveLength(2)
})

test('an update that waits for a row which it refers to answers 404 if that is deleted, and 503 if an administrator cancels it', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  const product = await api.create('/products/', sample.product)
  const [before, after] = [await api.create('/users/', sample.user), await api.create('/users/', sample.user)]
  const review = await api.create('/reviews/', sample.review(product, before))
  await using deleting = connected(database.url)
  await using sql = connected(database.url)
  const waiting = () => sql<{ pid: number }[]>`
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  for (const status of [503, 404]) {
    await deleting.unsafe(`BEGIN; DELETE FROM users WHERE id = ${after}`)
    const updated = api.patch(`/reviews/${review}`, sample.review(product, after))
    await until(async () => (await waiting()).length === 1)
    if (status === 503) for (const { pid } of await waiting()) await sql`SELECT pg_cancel_backend(${pid})`
    else await deleting.unsafe('COMMIT')
    expect((await updated).status).toBe(status)
    await deleting.unsafe('ROLLBACK')
  }
})

test('searches that read several times read one snapshot', async () => {
  await using empty = await createDatabase(await sharedServerUrl())
  await using database = await openedDatabase(empty.url)
  await using sql = connected(empty.url)
  await sql`CREATE TABLE many (id bigint)`
  const counts = await database.readPlanned(async ask => {
    const before = await ask('SELECT id::float8 FROM many')
    await sql`INSERT INTO many VALUES (1)`
    return [before, await ask('SELECT id::float8 FROM many')]
  })
  expect(counts).toEqual([[], []])
})

/** Raises the error that a foreign key raises in German. The tests' server has English messages only. */
const GERMAN = `
  CREATE TABLE german_orders (product_id bigint);
  CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF EXISTS (SELECT FROM german_orders WHERE product_id = old.id) THEN
      RAISE EXCEPTION 'Aktualisieren oder Löschen in Tabelle »products« verletzt Fremdschlüssel-Constraint'
        USING ERRCODE = 'foreign_key_violation', TABLE = 'german_orders', DETAIL = format(
          'Auf Schlüssel (id)=(%s) wird noch aus Tabelle »german_orders« verwiesen.', old.id);
    END IF;
    RETURN old;
  END $$;
  CREATE TRIGGER refuse AFTER DELETE ON products FOR EACH ROW EXECUTE FUNCTION refuse();`

test('a delete that the foreign key of another table forbids is tried twice, and the answer is not to try again', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  await using sql = connected(database.url)
  await sql.unsafe(`
    CREATE TABLE orders (product_id bigint NOT NULL REFERENCES products (id));
    CREATE TABLE offers (product_id bigint NOT NULL REFERENCES products (id) ON DELETE RESTRICT);
    ${GERMAN}
    CREATE SEQUENCE deletes;
    CREATE FUNCTION count_deletes() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM nextval('deletes'); RETURN old; END $$;
    CREATE TRIGGER count_deletes BEFORE DELETE ON products FOR EACH ROW EXECUTE FUNCTION count_deletes()`)
  let tries = 0
  for (const table of ['orders', 'offers', 'german_orders']) {
    const ordered = await api.create('/products/', sample.product)
    await sql.unsafe(`INSERT INTO ${table} VALUES (${ordered})`)
    const refused = await api.delete(`/products/${ordered}`)
    expect([refused.status, refused.headers.get('Retry-After')], table).toEqual([500, null])
    tries += 2
    expect([...(await sql`SELECT last_value::int AS tries FROM deletes`)], table).toEqual([{ tries }])
    expect((await api.get(`/products/${ordered}`)).status, table).toBe(200)
  }
})

/** PostgreSQL does what it has received from a node, even if the node has died in the meantime. */
test('an update of a node that has died may be done after a later one, but not if it expects the version before', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  const plain = await api.create('/products/', sample.product)
  const careful = await api.create('/products/', sample.product)

  await until(async () => {
    await using dying = await startService(`${database.url}?application_name=dying`, { flags: FLAGS })
    const other = client(() => dying.address)
    await Promise.all(Array.from({ length: UPDATES }, () => update(other, plain, BEFORE)))
    const tag = (await update(other, careful, BEFORE)).headers.get('ETag') ?? ''
    {
      using paused = await pauseBackends(database.url, 'dying')
      expect(paused.count).toBeGreaterThan(0)
      const lost = Promise.allSettled([update(other, plain, LATE), update(other, careful, LATE, tag)])
      await Bun.sleep(SENT_WITHIN_MS)
      await dying.stop('SIGKILL')
      expect((await lost).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
      for (const id of [plain, careful]) expect((await update(api, id, AFTER)).status).toBe(200)
    }
    await until(async () => (await backendsOf(database.url, 'dying')).length === 0)
    expect(await priceOf(api, careful)).toBe(AFTER)
    return (await priceOf(api, plain)) === LATE
  })
})

function update(api: Client, id: number, price: number, ifMatch?: string): Promise<Answer> {
  return api.send(`/products/${id}`, {
    method: 'PUT',
    headers: {
      'Content-Type': 'application/json',
      Connection: 'close',
      ...(ifMatch !== undefined && { 'If-Match': ifMatch }),
    },
    body: JSON.stringify({ ...sample.product, price }),
  })
}

async function priceOf(api: Client, id: number): Promise<number> {
  return Priced.parse((await api.get(`/products/${id}`)).body).price
}
