import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { postgres } from '../engines.ts'
import { openTcpProxy } from '../tcp-proxy.ts'
import { until } from '../until.ts'
import { connected } from './database.ts'
import { pgbouncerPath, startPgBouncer } from './pgbouncer.ts'
import { OTHER_HOME } from './programs.ts'
import { PostgresServer } from './server.ts'
import { caughtUp, pauseReplay, promote, resumeReplay, startStandby } from './standby.ts'

/** Checks the assumptions of other tests about the servers that they use. */

const open = new AsyncDisposableStack()
let server: PostgresServer

beforeAll(async () => {
  server = open.use(await PostgresServer.start())
  await using sql = connected(server.url())
  await sql`CREATE TABLE notes (text text)`
})
afterAll(() => open.disposeAsync())

test('each database of the shared server is an empty one of PostgreSQL 18', async () => {
  await using first = await postgres.freshDatabase()
  await using second = await postgres.freshDatabase()
  for (const { url } of [first, second]) {
    await using sql = connected(url)
    expect(await sql`SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname = 'public'`).toEqual([
      { tables: 0 },
    ])
    expect((await sql`SHOW server_version`)[0].server_version).toMatch(OTHER_HOME ? /^1[4-8]\./ : /^18\./)
    await sql`CREATE TABLE notes (text text)`
  }
})

test('a PostgreSQL server asks for its password', async () => {
  const url = new URL(server.url())
  url.password = 'another'
  await using sql = new SQL(url, { max: 1 })
  expect(await reasonOf(sql`SELECT 1`)).toMatch(/password authentication failed/)
})

test('a PostgreSQL server restarts on the same port with the same data, after a stop and after a crash', async () => {
  for (const mode of ['fast', 'immediate'] as const) {
    await using sql = connected(server.url())
    await sql`INSERT INTO notes VALUES (${mode})`
    await server.restart(mode)
    expect(await notesOf(server)).toContain(mode)
  }
})

test('a paused PostgreSQL server keeps its connections and answers when it goes on', async () => {
  await using sql = connected(server.url())
  await sql`SELECT 1`
  server.pause()
  let answered = false
  const answer = sql`SELECT 2 AS two`.then(([row]) => {
    answered = true
    return row
  })
  const silence = connected(server.url())
  expect(await Promise.race([silence`SELECT 1`.then(() => 'answer'), Bun.sleep(100).then(() => 'silence')])).toBe(
    'silence',
  )
  expect(answered).toBe(false)
  server.resume()
  expect(await answer).toEqual({ two: 2 })
  await silence.close()
})

test('a standby shows what its primary writes, lags when told to, and takes its place behind a proxy', async () => {
  await using standby = await startStandby(server, { name: 'standby' })
  await using address = await openTcpProxy(server.port)
  await using sql = connected(address.url('postgres'))
  await sql`INSERT INTO notes VALUES ('one')`
  await caughtUp(standby, server)
  expect(await notesOf(standby)).toContain('one')
  await pauseReplay(standby)
  await sql`INSERT INTO notes VALUES ('two')`
  expect(await notesOf(standby)).not.toContain('two')
  await resumeReplay(standby)
  await caughtUp(standby, server)
  expect(await notesOf(standby)).toContain('two')
  await server.stop('immediate')
  await promote(standby)
  address.switchTo(standby.port)
  address.cut()
  await until(() =>
    sql`INSERT INTO notes VALUES ('three')`.then(
      () => true,
      () => false,
    ),
  )
  expect(await notesOf(standby)).toContain('three')
  await server.start()
  expect(await notesOf(server)).not.toContain('three')
})

test('a proxy refuses connections, and passes on what it held back', async () => {
  await using address = await openTcpProxy(server.port)
  await using sql = connected(address.url('postgres'))
  await sql`SELECT 1`
  address.freeze()
  let answered = false
  const answer = sql`SELECT 2 AS two`.then(() => {
    answered = true
  })
  await using other = connected(address.url('postgres'))
  const otherAnswer = other`SELECT 3 AS three`.then(([row]) => row)
  await until(() => address.connections() === 2)
  expect(answered).toBe(false)
  address.thaw()
  await answer
  expect(await otherAnswer).toEqual({ three: 3 })
  await address.refuse()
  address.cut()
  await using refused = connected(address.url('postgres'))
  expect(await reasonOf(refused`SELECT 1`)).toMatch(/Failed to connect/)
  await address.accept()
  await using again = connected(address.url('postgres'))
  expect(await again`SELECT 4 AS four`).toEqual([{ four: 4 }])
})

test.skipIf(pgbouncerPath === null)('PgBouncer passes statements on in transactions', async () => {
  await using bouncer = await startPgBouncer(pgbouncerPath ?? '', server)
  await using sql = new SQL(bouncer.url('postgres'), { max: 1, prepare: false })
  expect(await sql`SELECT 1 AS one`).toEqual([{ one: 1 }])
})

async function notesOf(of: PostgresServer): Promise<string[]> {
  const rows = await of.ask<{ text: string }>(sql => sql`SELECT text FROM notes`)
  return rows.map(({ text }) => text)
}

async function reasonOf(statement: PromiseLike<unknown>): Promise<string> {
  try {
    await statement
    return 'none'
  } catch (error) {
    return String(error)
  }
}
