import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { idsOf, nextOf } from '../../../test/harness/catalog/list-pages.ts'
import { type Client, client } from '../../../test/harness/client.ts'
import { freePort } from '../../../test/harness/free-port.ts'
import { type Certificate, makeCertificate, opensslPath } from '../../../test/harness/postgres/certificate.ts'
import { connected, createDatabase, type TestDatabase } from '../../../test/harness/postgres/database.ts'
import { openedDatabase } from '../../../test/harness/postgres/opened.ts'
import { runAsDatabaseUser } from '../../../test/harness/postgres/programs.ts'
import { PostgresServer } from '../../../test/harness/postgres/server.ts'
import { expectRefusal } from '../../../test/harness/refusal.ts'
import { sample } from '../../../test/harness/samples.ts'
import { run, startService } from '../../../test/harness/service.ts'
import { type TemporaryFolder, temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']

const open = new AsyncDisposableStack()
let folder: TemporaryFolder
let server: PostgresServer

beforeAll(async () => {
  folder = open.use(temporaryFolder())
  chmodSync(folder.path, 0o777)
  server = open.use(await PostgresServer.start())
  await useScram(server)
})
afterAll(() => open.disposeAsync())

describe('a service on a database with settings of its own', () => {
  const settings = { extra_float_digits: '0', idle_session_timeout: '100ms', log_statement: 'all' }
  let database: TestDatabase
  let api: Client

  beforeAll(async () => {
    database = open.use(await createDatabase(server.url()))
    for (const [name, value] of Object.entries(settings)) {
      await server.ask(sql => sql.unsafe(`ALTER DATABASE ${database.name} SET ${name} = '${value}'`))
    }
    const service = open.use(await startService(database.url, { flags: [...FLAGS, '--cache-bytes', '0'] }))
    api = client(() => service.address)
  })

  test('the connections show the name of the program', async () => {
    await api.create('/products/', sample.product)
    const names = await server.ask<{ name: string }>(
      sql => sql`SELECT DISTINCT application_name AS name FROM pg_stat_activity WHERE datname = ${database.name}`,
    )
    for (const { name } of names) expect(name).toStartWith('stockroom')
    expect(names.length).toBeGreaterThan(0)
  })

  test('pages by price follow one another, although numbers are shown with fewer digits', async () => {
    const ids = [
      await api.create('/products/', { ...sample.product, price: 0.1 + 0.2 }),
      await api.create('/products/', { ...sample.product, price: 0.4 }),
    ]
    const first = await api.get('/products/?sort=price&limit=1')
    const second = await api.get(nextOf(first) ?? '')
    expect([...idsOf(first), ...idsOf(second)]).toEqual(ids)
  })

  test('connections stay open, although idle ones are ended', async () => {
    await api.create('/products/', sample.product)
    const connections = () =>
      server.ask<{ pid: number }>(
        sql => sql`SELECT pid FROM pg_stat_activity WHERE datname = ${database.name} ORDER BY pid`,
      )
    const before = await connections()
    await server.ask(sql => sql`SELECT pg_sleep(0.3)::text`)
    expect(before).not.toEqual([])
    expect(await connections()).toEqual(expect.arrayContaining(before))
  })

  test('pages of all lengths are read by the same prepared statement', async () => {
    const before = server.log().length
    for (let count = 0; count < 5; count += 1) await api.create('/products/', sample.product)
    for (const limit of [2, 3, 4, 5]) expect((await api.get(`/products/?limit=${limit}`)).body).toHaveLength(limit)
    const logged = server.log().slice(before)
    const executed = Array.from(logged.matchAll(/ execute [^ ]+: (.*?)\n\d{4}-/gs), ([, sql = '']) => sql)
    expect(new Set(executed.filter(sql => sql.includes('owners AS MATERIALIZED')))).toHaveProperty('size', 1)
  })
})

test('a name in the address becomes the name of the connections', async () => {
  await using database = await createDatabase(server.url())
  await using service = await startService(`${database.url}?application_name=shop%20+7`, { flags: FLAGS })
  await client(() => service.address).create('/products/', sample.product)
  const names = await server.ask<{ name: string }>(
    sql => sql`SELECT DISTINCT application_name AS name FROM pg_stat_activity WHERE datname = ${database.name}`,
  )
  expect(names).toHaveLength(1)
  expect(names[0]).toEqual({ name: 'shop +7' })
})

test('connections have limits and an isolation level of their own, whatever a database has by default', async () => {
  await using database = await createDatabase(server.url())
  const own = {
    statement_timeout: '5s',
    lock_timeout: '1s',
    idle_in_transaction_session_timeout: '30s',
    transaction_isolation: 'read committed',
  }
  await server.ask(sql =>
    sql.unsafe(`ALTER DATABASE ${database.name} SET default_transaction_isolation = 'serializable'`),
  )
  await using opened = await openedDatabase(database.url)
  const sql = `SELECT ${Object.keys(own).map(name => `current_setting('${name}') AS ${name}`)}`
  expect([await opened.readPrimary(sql), await opened.write(sql)]).toEqual([[own], [own]])
})

test('an export takes as long as it needs also in a database that ends long transactions', async () => {
  await using database = await createDatabase(server.url())
  await run(['seed', '--database', database.url, '--products', '3', '--reviews', '0'])
  // PostgreSQL before version 17 has no such limit.
  await server
    .ask(sql => sql.unsafe(`ALTER DATABASE ${database.name} SET transaction_timeout = '1s'`))
    .catch(error => expect(String(error)).toContain('unrecognized configuration parameter'))
  await using sql = connected(database.url)
  await sql`SELECT set_config('transaction_timeout', '0', false) WHERE current_setting('transaction_timeout', true) <> ''`
  await sql`BEGIN`
  await sql`LOCK TABLE products`
  const exported = run(['export', '--database', database.url, '--resource', 'products'])
  await until(async () => (await server.ask(sql => sql`SELECT pid FROM pg_locks WHERE NOT granted`)).length > 0)
  await sql`SELECT pg_sleep(1.2)::text`
  await sql`COMMIT`
  const { status, output } = await exported
  expect({ status, lines: output.trim().split('\n').length }).toEqual({ status: 0, lines: 3 })
})

test('a wrong password, user or database is reported in one line without the password', async () => {
  const wrong = { password: 'wrong-secret', username: 'nobody-there', pathname: '/nothing_here' } as const
  for (const [part, value] of Object.entries(wrong)) {
    const url = new URL(server.url())
    Reflect.set(url, part, value)
    const refused = await run(['serve', '--host', '127.0.0.1', '--port', '0', '--database', url.href])
    expectRefusal(refused, { status: 1, reason: /database|password|role/ }, part)
    expect(refused.errors + refused.output, part).not.toContain(decodeURIComponent(url.password))
    expect(refused.errors, part).not.toContain('DATABASE_PASSWORD')
  }
})

test('the password and the parameters of DATABASE_URL are not used for another address', async () => {
  await using database = await createDatabase(server.url())
  const other = new URL(server.url())
  other.hostname = 'other.example'
  other.searchParams.set('search_path', 'nowhere')
  const environment = { DATABASE_URL: other.href }
  const withoutPassword = database.url.replace(/:[^:/@]+@/, '@')
  const refused = await run(['seed', '--database', withoutPassword, '--products', '1'], { environment })
  expectRefusal(refused, { status: 1, reason: /password authentication failed .*; .* DATABASE_PASSWORD_FILE$/m })
  expect(await run(['seed', '--database', database.url, '--products', '1'], { environment })).toHaveProperty(
    'status',
    0,
  )
})

test('if the server cannot be reached, the reason is the one of the system', async () => {
  const reasons = {
    [`127.0.0.1:${await freePort()}`]: 'ECONNREFUSED',
    'nowhere.invalid': '(ENOTFOUND|EAI_AGAIN|no answer)',
  }
  for (const [place, reason] of Object.entries(reasons)) {
    const refused = await run(['seed', '--database', `postgres://shop@${place}/shop`])
    expectRefusal(refused, { status: 1, reason: new RegExp(`${place}.* cannot be used: .+: ${reason}$`, 'm') }, place)
  }
})

test('when the password is changed, open connections go on, new ones are 503, and a node with the new password serves', async () => {
  await using database = await createDatabase(server.url())
  const url = new URL(database.url)
  url.username = 'changing'
  const use = async (password: string) => {
    await server.ask(sql => sql.unsafe(`ALTER ROLE changing PASSWORD '${password}'`))
    url.password = password
  }
  await server.ask(sql => sql.unsafe('CREATE ROLE changing LOGIN SUPERUSER'))
  await use('before')
  await using old = await startService(url.href, { flags: FLAGS })
  const api = client(() => old.address)
  const id = await api.create('/products/', sample.product)
  await use('after')
  expect((await api.get(`/products/${id}`)).status).toBe(200)
  expect((await api.get('/readyz')).status).toBe(200)
  await server.cutConnections()
  await until(async () => (await api.get('/readyz')).status !== 200)
  for (const path of ['/readyz', `/products/${id}`]) {
    const { status, headers } = await api.get(path)
    expect({ path, status, retry: headers.get('Retry-After') }).toEqual({ path, status: 503, retry: '1' })
  }
  await until(() => old.errors().includes('password authentication failed'))
  await using restarted = await startService(url.href, { flags: FLAGS })
  expect((await client(() => restarted.address).get(`/products/${id}`)).status).toBe(200)
})

describe.skipIf(opensslPath === null)('with TLS', () => {
  let certificate: Certificate
  let secure: PostgresServer

  beforeAll(async () => {
    certificate = await makeCertificate(opensslPath ?? '', folder.path, 'localhost')
    secure = open.use(
      await PostgresServer.start({
        settings: { ssl: 'on', ssl_cert_file: certificate.path, ssl_key_file: certificate.keyPath },
      }),
    )
    await useScram(secure)
  })

  test('sslmode=require encrypts, whoever signed the certificate, and so does an address without it', async () => {
    for (const query of ['sslmode=require', '']) {
      expect(await encryption('127.0.0.1', query), query).toEqual([{ encrypted: true }])
    }
  })

  test('sslmode=verify-full accepts a certificate of the authority in sslrootcert for the right host', async () => {
    const authority = `sslrootcert=${encodeURIComponent(certificate.path)}`
    expect(await encryption('localhost', `sslmode=verify-full&${authority}`)).toEqual([{ encrypted: true }])
  })

  test('sslmode=verify-full refuses a certificate of an unknown authority, and one for another host', async () => {
    const authority = `sslrootcert=${encodeURIComponent(certificate.path)}`
    for (const [host, query] of [
      ['localhost', 'sslmode=verify-full'],
      ['127.0.0.1', `sslmode=verify-full&${authority}`],
    ] as const) {
      const address = addressOf(secure.url(), host, query)
      const refused = await run(['serve', '--host', '127.0.0.1', '--port', '0', '--database', address])
      expectRefusal(refused, { status: 1, reason: /certificate/ }, query)
    }
  })

  test('with sslrootcert, sslmode=require and verify-ca refuse a certificate of another authority, and accept one for any host', async () => {
    using strange = temporaryFolder()
    chmodSync(strange.path, 0o777)
    const other = await makeCertificate(opensslPath ?? '', strange.path, 'localhost')
    for (const mode of ['require', 'verify-ca']) {
      const asked = (authority: Certificate) => `sslmode=${mode}&sslrootcert=${encodeURIComponent(authority.path)}`
      const refused = await run(['seed', '--database', addressOf(secure.url(), '127.0.0.1', asked(other))])
      expectRefusal(refused, { status: 1, reason: /certificate/ }, mode)
      expect(await encryption('127.0.0.1', asked(certificate)), mode).toEqual([{ encrypted: true }])
    }
  })

  test('without sslrootcert, sslmode=verify-ca refuses a certificate for another host, because public authorities sign for everybody', async () => {
    await using database = await createDatabase(secure.url())
    const environment = { NODE_EXTRA_CA_CERTS: certificate.path }
    for (const [host, reason] of [
      ['127.0.0.1', /certificate/],
      ['localhost', /has no tables/],
    ] as const) {
      const address = addressOf(database.url, host, 'sslmode=verify-ca')
      expectRefusal(await run(['key', 'list', '--database', address], { environment }), { status: 1, reason }, host)
    }
  })

  test('a server without encryption is refused if encryption is required', async () => {
    const address = addressOf(server.url(), '127.0.0.1', 'sslmode=require')
    const refused = await run(['serve', '--host', '127.0.0.1', '--port', '0', '--database', address])
    expectRefusal(refused, { status: 1, reason: /TLS|SSL|encrypt/ })
  })

  test('while the server shows a certificate that cannot be verified, answers are 503, and 200 when it shows a good one', async () => {
    using strange = temporaryFolder()
    chmodSync(strange.path, 0o777)
    const other = await makeCertificate(opensslPath ?? '', strange.path, 'localhost')
    const authority = join(folder.path, 'authority.crt')
    await runAsDatabaseUser(['cp', certificate.path, authority])
    await using database = await createDatabase(secure.url())
    const address = addressOf(
      database.url,
      'localhost',
      `sslmode=verify-full&sslrootcert=${encodeURIComponent(authority)}`,
    )
    await using service = await startService(address, { flags: FLAGS })
    const api = client(() => service.address)
    const id = await api.create('/products/', sample.product)
    const show = async ({ path, keyPath }: Certificate) => {
      await runAsDatabaseUser(['cp', path, certificate.path])
      await runAsDatabaseUser(['cp', keyPath, certificate.keyPath])
      await secure.ask(sql => sql`SELECT pg_reload_conf()`)
      await secure.cutConnections()
    }
    const good = { path: authority, keyPath: join(folder.path, 'authority.key') }
    await runAsDatabaseUser(['cp', certificate.keyPath, good.keyPath])

    await show(other)
    await until(async () => (await api.get('/readyz')).status !== 200)
    for (let round = 0; round < 3; round += 1) {
      for (const path of ['/readyz', `/products/${id}`, '/products/']) {
        const { status, headers } = await api.get(path)
        expect({ path, status, retry: headers.get('Retry-After') }).toEqual({ path, status: 503, retry: '1' })
      }
      expect((await api.post('/products/', sample.product)).status).toBe(503)
    }
    await until(() => service.errors().includes('self signed certificate'))

    await show(good)
    await until(async () => (await api.get('/readyz')).status === 200)
    expect((await api.get(`/products/${id}`)).status).toBe(200)
    expect((await api.post('/products/', sample.product)).status).toBe(200)
  })

  async function encryption(host: string, query: string) {
    await using database = await createDatabase(secure.url())
    await using service = await startService(addressOf(database.url, host, query), { flags: FLAGS })
    await client(() => service.address).create('/products/', sample.product)
    return [
      ...(await secure.ask(
        sql => sql`
          SELECT DISTINCT ssl AS encrypted FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
          WHERE datname = ${database.name}`,
      )),
    ]
  }
})

function addressOf(url: string, host: string, query: string): string {
  const address = new URL(url)
  address.hostname = host
  address.search = query
  return address.href
}

/** As real servers do by default. */
async function useScram(server: PostgresServer): Promise<void> {
  const { username, password } = new URL(server.url())
  await server.set('password_encryption', 'scram-sha-256')
  await server.ask(sql => sql.unsafe(`ALTER ROLE ${username} PASSWORD '${decodeURIComponent(password)}'`))
  expect(await server.ask(sql => sql`SELECT rolpassword FROM pg_authid WHERE rolname = ${username}`)).toEqual([
    { rolpassword: expect.stringMatching(/^SCRAM-SHA-256/) },
  ])
}
