import { expect, setDefaultTimeout, test } from 'bun:test'
import { client } from '../../../test/harness/client.ts'
import { connected, createDatabase } from '../../../test/harness/postgres/database.ts'
import { Load } from '../../../test/harness/postgres/load.ts'
import { pgbouncerPath, startPgBouncer } from '../../../test/harness/postgres/pgbouncer.ts'
import { PostgresServer } from '../../../test/harness/postgres/server.ts'
import { expectRefusal } from '../../../test/harness/refusal.ts'
import { sample } from '../../../test/harness/samples.ts'
import { run, startService } from '../../../test/harness/service.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']

/** Fewer than one node opens, so nodes and their transactions share them. */
const SERVER_CONNECTIONS = '4'

/** By default it waits 15 s before it tries a lost server again. */
const RETRY_SECONDS = '0.1'

test.skipIf(pgbouncerPath === null)(
  'nodes share the few connections of PgBouncer in transaction mode, start on an empty database, and survive its restart',
  async () => {
    await using server = await PostgresServer.start()
    await using database = await createDatabase(server.url())
    await using bouncer = await startPgBouncer(pgbouncerPath ?? '', server, {
      default_pool_size: SERVER_CONNECTIONS,
      server_login_retry: RETRY_SECONDS,
    })
    const options = { flags: FLAGS, environment: { DATABASE_POOLER: 'transaction' } }
    await using one = await startService(bouncer.url(database.name), options)
    await using other = await startService(bouncer.url(database.name), options)
    const load = await Load.start([one.address, other.address])
    await load.succeeded()
    await server.restart('fast')
    await load.succeeded()
    await load.stop()
    load.expectGoodAnswers()
    for (const service of [one, other]) await load.expectNothingLost(client(() => service.address))
    const users = await server.ask<{ count: number }>(
      sql => sql`SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = ${database.name}`,
    )
    expect(users[0]?.count).toBeLessThanOrEqual(Number(SERVER_CONNECTIONS))
  },
)

test.skipIf(pgbouncerPath === null)(
  'behind PgBouncer in either mode, posted NDJSON is stored at READ COMMITTED, whatever a database has by default',
  async () => {
    await using server = await PostgresServer.start()
    await using database = await createDatabase(server.url())
    await using sql = connected(database.url)
    await sql.unsafe(`ALTER DATABASE ${database.name} SET default_transaction_isolation = 'serializable'`)
    for (const pool_mode of ['transaction', 'session']) {
      await using bouncer = await startPgBouncer(pgbouncerPath ?? '', server, { pool_mode })
      const options = { flags: FLAGS, environment: { DATABASE_POOLER: 'transaction' } }
      await using service = await startService(bouncer.url(database.name), options)
      await sql.unsafe(`
        CREATE OR REPLACE FUNCTION check_level() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          ASSERT current_setting('transaction_isolation') = 'read committed'; RETURN NEW; END $$;
        CREATE OR REPLACE TRIGGER checked BEFORE INSERT ON categories FOR EACH ROW EXECUTE FUNCTION check_level()`)
      const posted = await client(() => service.address).send('/categories/', {
        method: 'POST',
        body: JSON.stringify(sample.category),
        headers: { 'Content-Type': 'application/x-ndjson' },
      })
      expect({ pool_mode, status: posted.status }).toEqual({ pool_mode, status: 200 })
    }
  },
)

test.skipIf(pgbouncerPath === null)(
  'a start behind PgBouncer in transaction mode is refused with the setting that it needs, also if PgBouncer drops time limits',
  async () => {
    await using server = await PostgresServer.start()
    await using database = await createDatabase(server.url())
    for (const settings of [
      {},
      {
        ignore_startup_parameters:
          'extra_float_digits,statement_timeout,lock_timeout,idle_in_transaction_session_timeout,idle_session_timeout,default_transaction_isolation',
      },
    ]) {
      await using bouncer = await startPgBouncer(pgbouncerPath ?? '', server, settings)
      const refused = await run(['serve', '--port', '0', '--database', bouncer.url(database.name)])
      expectRefusal(refused, { status: 1, reason: /set DATABASE_POOLER=transaction$/m })
    }
  },
)
