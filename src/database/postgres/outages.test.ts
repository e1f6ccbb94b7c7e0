import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { client } from '../../../test/harness/client.ts'
import { Cluster } from '../../../test/harness/postgres/cluster.ts'
import { connected, createDatabase } from '../../../test/harness/postgres/database.ts'
import { Load } from '../../../test/harness/postgres/load.ts'
import { openedDatabase } from '../../../test/harness/postgres/opened.ts'
import { PostgresServer } from '../../../test/harness/postgres/server.ts'
import { promote } from '../../../test/harness/postgres/standby.ts'
import { sample } from '../../../test/harness/samples.ts'
import { type Service, startService } from '../../../test/harness/service.ts'
import { openTcpProxy, type TcpProxy } from '../../../test/harness/tcp-proxy.ts'
import { until } from '../../../test/harness/until.ts'
import { DatabaseUnavailableError } from '../errors.ts'
import { postgresAddress } from './address.ts'
import { PostgresDatabase } from './database.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']

/** The length of a client's request for TLS, and the alert that refuses its handshake. */
const TLS_REQUEST_BYTES = 8
const TLS_ALERT = Buffer.from([21, 3, 3, 0, 2, 2, 40])

const open = new AsyncDisposableStack()
let server: PostgresServer
/** One that runs all the time. */
let quiet: PostgresServer

beforeAll(async () => {
  server = open.use(await PostgresServer.start())
  quiet = open.use(await PostgresServer.start())
})
afterAll(() => open.disposeAsync())

test('a service without its database waits for it, says so at /readyz, and serves once it is there, or stops', async () => {
  await using database = await createDatabase(server.url())
  await server.stop()
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  expect((await api.get('/healthz')).status).toBe(200)
  for (const path of ['/readyz', '/products/', '/products/1', '/reviews/?limit=1000']) {
    const answer = await api.get(path)
    expect(answer, path).toMatchObject({ status: 503, body: { detail: expect.stringMatching(/database/) } })
    expect(answer.headers.get('Retry-After'), path).toMatch(/^[1-9][0-9]*$/)
  }
  expect((await api.post('/products/', sample.product)).status).toBe(503)
  const tries = service.errors().match(/cannot be used: .*still trying/g)
  expect(tries, service.errors()).toHaveLength(1)
  await using stopped = await startService(database.url, { flags: FLAGS })
  expect(await stopped.stop()).toBe(0)
  await server.start()
  await until(async () => (await api.get('/readyz')).status === 200)
  expect(await api.create('/products/', sample.product)).toBeGreaterThan(0)
})

test('a database that is closed while it is being connected to leaves no connection open', async () => {
  await using empty = await createDatabase(quiet.url())
  await using proxy = await openTcpProxy(quiet.port)
  await proxy.refuse()
  const address = postgresAddress(proxy.url(empty.name), { password: null, isPooled: false, shallDistribute: false })
  const opening = { address, replicas: [], connections: 1, migrations: [], waitMs: 60_000 }
  const database = await PostgresDatabase.open(opening)
  await proxy.accept()
  const release = proxy.holdBack()
  await until(() => proxy.connections() > 0)
  await database[Symbol.asyncDispose]()
  release()
  await database.ready
  await until(async () => (await sessions(empty.name)) === 0)
})

test('a read whose database is closed is refused, and not sent again on new connections', async () => {
  await using empty = await createDatabase(quiet.url())
  await using proxy = await openTcpProxy(quiet.port)
  const database = await openedDatabase(proxy.url(empty.name))
  await database.readPrimary('SELECT 1')
  const opened = proxy.connections()
  const reading = database.readPrimary("SELECT 'Held'")
  const { begun, passOn } = proxy.holdBackFrom('Held')
  await begun
  await database[Symbol.asyncDispose]()
  await expect(reading).rejects.toThrow(DatabaseUnavailableError)
  passOn()
  await until(async () => (await sessions(empty.name)) === 0)
  expect(proxy.connections()).toBe(opened)
})

test('a database restart loses nothing acknowledged, and the service recovers by itself', async () => {
  await underLoad(async load => {
    await server.stop('fast')
    await load.refused()
    await server.start()
  })
})

test('a database crash loses nothing acknowledged, and the service recovers by itself', async () => {
  await underLoad(async load => {
    await server.stop('immediate')
    await load.refused()
    await server.start()
  })
})

test('immediate database restarts, again and again, lose nothing acknowledged', async () => {
  await underLoad(async load => {
    for (const mode of ['immediate', 'fast', 'immediate', 'fast'] as const) {
      await server.restart(mode)
      await load.succeeded()
    }
  })
})

test('a server that breaks off the TLS handshake is waited for at the start, and answers are 503 until it is back', async () => {
  await using database = await createDatabase(quiet.url())
  await using proxy = await openTcpProxy(quiet.port)
  // A proxy whose server is gone says that it can do TLS, and closes the connection.
  using breaking = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: socket => void socket.end('S') } })
  const refuse = (socket: Bun.Socket, { length }: Buffer) =>
    void socket.write(length === TLS_REQUEST_BYTES ? 'S' : TLS_ALERT)
  using refusing = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: refuse } })
  const start = () => startService(proxy.url(database.name), { flags: FLAGS })
  await using service = await start()
  proxy.switchTo(refusing.port)
  proxy.cut()
  const expectRefused = async ({ address }: Service) => {
    const api = client(() => address)
    for (const path of ['/readyz', '/products/1', '/products/']) expect((await api.get(path)).status, path).toBe(503)
    expect((await api.post('/products/', sample.product)).status).toBe(503)
  }
  for (const { port } of [refusing, breaking]) {
    proxy.switchTo(port)
    await expectRefused(service)
  }
  await using later = await start()
  await expectRefused(later)
  proxy.switchTo(quiet.port)
  for (const { address } of [service, later]) {
    const api = client(() => address)
    await until(async () => (await api.get('/readyz')).status === 200)
    expect(await api.create('/products/', sample.product)).toBeGreaterThan(0)
  }
})

test('a row that somebody locks can still be read, and everything else can be read and written', async () => {
  await using database = await createDatabase(server.url())
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  const [held, other] = [await api.create('/products/', sample.product), await api.create('/products/', sample.product)]
  await using holder = connected(database.url)
  await holder`BEGIN`
  await holder`UPDATE products SET name = 'Held' WHERE id = ${held}`
  let isHeld = true
  // More than the service has connections. Each waits for a second at most.
  const waiting = Array.from({ length: 64 }, async () => {
    do expect([200, 503]).toContain((await api.put(`/products/${held}`, sample.product)).status)
    while (isHeld)
  })
  const someWait = async () => {
    const waiters = await server.ask(
      sql => sql`SELECT FROM pg_stat_activity WHERE datname = ${database.name} AND wait_event_type = 'Lock'`,
    )
    return waiters.length > 0
  }
  await until(someWait)
  for (const path of [`/products/${held}`, `/products/${other}`, '/products/']) {
    expect((await api.get(path)).status, path).toBe(200)
  }
  await until(someWait)
  for (let time = 0; time < 8; time += 1) {
    expect((await api.put(`/products/${other}`, sample.product)).status).toBe(200)
    expect((await api.get('/readyz')).status).toBe(200)
  }
  isHeld = false
  await holder`ROLLBACK`
  await Promise.all(waiting)
  expect((await api.put(`/products/${held}`, sample.product)).status).toBe(200)
})

test('writes of a row that somebody locks are refused together, not one after the other', async () => {
  await using database = await createDatabase(server.url())
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  const held = await api.create('/products/', sample.product)
  await using holder = connected(database.url)
  await holder`BEGIN`
  await holder`UPDATE products SET name = 'Held' WHERE id = ${held}`
  const began = performance.now()
  const writes = Array.from({ length: 8 }, (_, place) =>
    place % 2 === 0 ? api.put(`/products/${held}`, sample.product) : api.delete(`/products/${held}`),
  )
  for (const { status } of await Promise.all(writes)) expect(status).toBe(503)
  // Each would wait for a second.
  expect(performance.now() - began).toBeLessThan(4_000)
  await holder`ROLLBACK`
})

test('a write whose connection is cut while the server works on it gets 503, and is not sent again', async () => {
  await using database = await createDatabase(quiet.url())
  await using proxy = await openTcpProxy(quiet.port)
  await using service = await startService(proxy.url(database.name), { flags: FLAGS })
  const api = client(() => service.address)
  await api.create('/categories/', sample.category)
  await using holder = connected(database.url)
  await holder`BEGIN`
  await holder`LOCK TABLE categories IN SHARE MODE`
  const creating = api.post('/categories/', sample.category)
  const working = async () => {
    const found = await quiet.ask(
      sql => sql`
        SELECT FROM pg_stat_activity
        WHERE datname = ${database.name} AND state = 'active' AND wait_event_type = 'Lock'`,
    )
    return found.length > 0
  }
  await until(working)
  proxy.cut()
  await holder`ROLLBACK`
  expect((await creating).status).toBe(503)
  // The server notices that its client is gone when it answers.
  await until(async () => !(await working()) && (await api.get('/readyz')).status === 200)
  const { body } = await api.get('/categories/')
  expect(Array.isArray(body) && body.length).toBeLessThanOrEqual(2)
})

test('if a connection is cut, a write that the server does on another one ends well', async () => {
  await using database = await createDatabase(quiet.url())
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  const id = await api.create('/products/', sample.product)
  await using sql = connected(database.url)
  await sql.unsafe(`
    CREATE FUNCTION write_slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1); RETURN NEW; END $$;
    CREATE TRIGGER slowly BEFORE INSERT ON categories FOR EACH ROW EXECUTE FUNCTION write_slowly()`)
  const slow = api.post('/categories/', sample.category)
  const sleeping = () => sql`SELECT FROM pg_stat_activity WHERE datname = ${database.name} AND wait_event = 'PgSleep'`
  await until(async () => (await sleeping()).length > 0)
  await sql`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = ${database.name} AND application_name = 'stockroom' AND wait_event IS DISTINCT FROM 'PgSleep'`
  await until(async () => (await api.put(`/products/${id}`, sample.product)).status === 200)
  expect((await slow).status).toBe(200)
})

test('after outages, a service has no more connections than it may have', async () => {
  await using database = await createDatabase(quiet.url())
  await using proxy = await openTcpProxy(quiet.port)
  await using service = await startService(proxy.url(database.name), {
    flags: FLAGS,
    environment: { DATABASE_CONNECTIONS: '1' },
  })
  const api = client(() => service.address)
  for (let outage = 0; outage < 3; outage += 1) {
    await proxy.refuse()
    proxy.cut()
    expect((await api.get('/readyz')).status).toBe(503)
    await proxy.accept()
    await until(async () => (await api.get('/readyz')).status === 200)
  }
  // One for reads, and one for writes.
  await until(async () => (await sessions(database.name)) === 2)
})

test('connections that an administrator cuts are reopened, and nothing is lost', async () => {
  await underLoad(async load => {
    for (let time = 0; time < 3; time += 1) {
      expect(await server.cutConnections()).toBeGreaterThan(0)
      await load.succeeded()
    }
  })
})

test('connections that the network cuts are reopened, and nothing is lost', async () => {
  await using address = await openTcpProxy(server.port)
  await underLoad(async load => {
    for (let time = 0; time < 3; time += 1) {
      address.cut()
      await load.succeeded()
    }
  }, address)
})

test('the service waits for a database that is unreachable for a while, and nothing is lost', async () => {
  await using address = await openTcpProxy(server.port)
  await underLoad(async load => {
    await address.refuse()
    address.cut()
    await load.refused()
    await address.accept()
  }, address)
})

test('a standby that replaces a crashed primary has everything acknowledged', async () => {
  await using cluster = await Cluster.start()
  const { primary, standby, address } = cluster
  await underLoad(
    async () => {
      await primary.stop('immediate')
      await promote(standby)
      address.switchTo(standby.port)
    },
    address,
    primary,
  )
})

/** Each waits for the statement timeout, with little to do, so they run at the same time. */
describe('silent databases', () => {
  test.concurrent('a transaction may take longer than the time limit of its statements', async () => {
    await using empty = await createDatabase(quiet.url())
    await using database = await openedDatabase(empty.url)
    const waiting = database.transaction(async query => {
      for (let times = 0; times < 2; times += 1) await query("SELECT pg_sleep(3.2), 'waited'")
      return query<{ one: number }>('SELECT 1 AS one')
    })
    expect(await waiting).toEqual([{ one: 1 }])
  })

  test.concurrent('a paused database is not waited for forever, and nothing is lost', async () => {
    await using own = await PostgresServer.start()
    await underLoad(
      async load => {
        own.pause()
        await load.refused()
        own.resume()
      },
      own,
      own,
    )
  })

  test.concurrent('a network that passes nothing on, and later all of it, is not waited for forever, and nothing is lost', async () => {
    await using address = await openTcpProxy(quiet.port)
    await underLoad(
      async load => {
        address.freeze()
        await load.refused()
        address.thaw()
      },
      address,
      quiet,
    )
  })

  test.concurrent('a network that loses everything, and then accepts new connections, is not waited for forever, and nothing is lost', async () => {
    await using address = await openTcpProxy(quiet.port)
    await underLoad(
      async load => {
        address.freeze()
        await load.refused()
        address.replace()
      },
      address,
      quiet,
    )
  })

  test.concurrent('a silent primary that a standby replaces is not waited for forever, and nothing is lost', async () => {
    await using cluster = await Cluster.start()
    const { primary, standby, address } = cluster
    await underLoad(
      async () => {
        primary.pause()
        await promote(standby)
        address.switchTo(standby.port)
      },
      address,
      primary,
    )
  })
})

/**
 * Keeps clients working on a service while something happens to its database. Afterwards they must work as before, with the
 * same process, and everything they were told must be true.
 */
async function underLoad(
  fault: (load: Load) => Promise<void>,
  address: TcpProxy | PostgresServer = server,
  maker = server,
): Promise<void> {
  const database = await createDatabase(maker.url())
  await using service = await startService(address.url(database.name), { flags: FLAGS })
  const load = await Load.start([service.address])
  await fault(load)
  await load.succeeded()
  await load.stop()
  load.expectGoodAnswers()
  await load.expectNothingLost(client(() => service.address))
  expectNoStack(service)
  expect(await service.stop()).toBe(0)
}

/** The number of connections that programs of ours have to a database. */
async function sessions(database: string): Promise<number> {
  const found = await quiet.ask(
    sql => sql`SELECT FROM pg_stat_activity WHERE datname = ${database} AND application_name = 'stockroom'`,
  )
  return found.length
}

/** An expected failure is logged in one line. */
function expectNoStack(service: Service): void {
  for (const line of service.errors().trimEnd().split('\n')) expect(line).not.toContain('"stack"')
}
