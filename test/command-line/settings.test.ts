import { expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { client } from '../harness/client.ts'
import { expectRefusal } from '../harness/refusal.ts'
import { run, startServer, startService } from '../harness/service.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { until } from '../harness/until.ts'

/** Each of these starts the program, some of them many times. */
setDefaultTimeout(60_000)

const SHOP = 'https://shop.example'
const BACK_OFFICE = 'https://office.example:8443'

/** Where a test's service listens, given by variables. */
const LOOPBACK = { HOST: '127.0.0.1', PORT: '0' }

test('each setting is taken from its variable', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await using service = await startServer(['serve'], {
    environment: {
      ...LOOPBACK,
      DATABASE_URL: `sqlite:${file}`,
      CORS_ORIGINS: SHOP,
      ACCESS_LOG: 'off',
      LOG_LEVEL: 'debug',
    },
  })
  const api = client(() => service.address)
  expect(service.address).toMatch(/^http:\/\/127\.0\.0\.1:[1-9][0-9]*$/)
  expect(existsSync(file)).toBe(true)
  expect((await api.get('/products/', { Origin: SHOP })).headers.get('Access-Control-Allow-Origin')).toBe(SHOP)
  await service.stop()
  expect(service.errors()).not.toContain('/products/')
})

test('each setting is taken from its flag, whatever nonsense its variable holds', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  const flags = ['--host', '127.0.0.1', '--port', '0', '--database', `sqlite:${file}`]
  await using service = await startServer(
    ['serve', ...flags, '--cors-origins', SHOP, '--access-log', 'off', '--log-level', 'debug'],
    {
      environment: {
        HOST: ' ',
        PORT: 'nonsense',
        DATABASE_URL: 'nonsense:',
        CORS_ORIGINS: 'nonsense',
        ACCESS_LOG: 'nonsense',
        LOG_LEVEL: 'nonsense',
      },
    },
  )
  const api = client(() => service.address)
  expect(existsSync(file)).toBe(true)
  expect((await api.get('/products/', { Origin: SHOP })).headers.get('Access-Control-Allow-Origin')).toBe(SHOP)
  await service.stop()
  expect(service.errors()).not.toContain('/products/')
})

test('a flag wins over its variable', async () => {
  using folder = temporaryFolder()
  using taken = listener()
  const [ofFlag, ofVariable] = [join(folder.path, 'flag.db'), join(folder.path, 'variable.db')]
  await using service = await startServer(
    [
      ...['serve', '--host', '127.0.0.1', '--port', '0', '--database', `sqlite:${ofFlag}`],
      ...['--cors-origins', SHOP, '--access-log', 'off', '--log-level', 'info'],
    ],
    {
      environment: {
        HOST: 'no-such-host.invalid',
        PORT: String(taken.port),
        DATABASE_URL: `sqlite:${ofVariable}`,
        CORS_ORIGINS: BACK_OFFICE,
        ACCESS_LOG: 'on',
        LOG_LEVEL: 'error',
      },
    },
  )
  const api = client(() => service.address)
  expect([existsSync(ofFlag), existsSync(ofVariable)]).toEqual([true, false])
  const allowed = async (origin: string) =>
    (await api.get('/products/', { Origin: origin })).headers.get('Access-Control-Allow-Origin')
  expect([await allowed(SHOP), await allowed(BACK_OFFICE)]).toEqual([SHOP, null])
  await service.stop()
  expect(service.errors()).toContain('stopping')
  expect(service.errors()).not.toContain('/products/')
})

test('the port and the host are those of the variables: one that is taken is refused by its name', async () => {
  using folder = temporaryFolder()
  using taken = listener()
  const environment = {
    HOST: '127.0.0.1',
    PORT: String(taken.port),
    DATABASE_URL: `sqlite:${join(folder.path, 'shop.db')}`,
  }
  expectRefusal(await run(['serve'], { environment }), {
    status: 1,
    reason: new RegExp(`127\\.0\\.0\\.1:${taken.port} is in use`),
  })
})

test('a flag and its value may be one word', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await using service = await startServer(['serve', '--host=127.0.0.1', '--port=0', `--database=sqlite:${file}`])
  expect((await client(() => service.address).get('/products/')).status).toBe(200)
  expect(existsSync(file)).toBe(true)
})

test('of a flag that is given twice the last one counts', async () => {
  using folder = temporaryFolder()
  const [first, last] = [join(folder.path, 'first.db'), join(folder.path, 'last.db')]
  const ran = await run(['seed', '--database', `sqlite:${first}`, '--database', `sqlite:${last}`, '--reviews', '0'])
  expect(ran.status).toBe(0)
  expect([existsSync(first), existsSync(last)]).toEqual([false, true])
})

test('an empty variable is as good as none', async () => {
  using folder = temporaryFolder()
  const flags = ['--host', '127.0.0.1', '--port', '0', '--database', `sqlite:${join(folder.path, 'shop.db')}`]
  await using service = await startServer(['serve', ...flags], {
    environment: { HOST: '', PORT: '', DATABASE_URL: '', CORS_ORIGINS: '', ACCESS_LOG: '', LOG_LEVEL: '' },
  })
  const answer = await client(() => service.address).get('/products/', { Origin: SHOP })
  expect(answer.headers.get('Access-Control-Allow-Origin')).toBe(null)
  await service.stop()
  expect(service.errors()).toContain('/products/')
})

test('without settings the database is data/stockroom.db in the working folder, and all addresses are listened on', async () => {
  using folder = temporaryFolder()
  await using service = await startServer(['serve', '--port', '0'], { folder: folder.path })
  expect(service.address).toMatch(/^http:\/\/localhost:[0-9]+$/)
  expect(existsSync(join(folder.path, 'data/stockroom.db'))).toBe(true)
  const { port } = new URL(service.address)
  expect((await client(() => `http://127.0.0.1:${port}`).get('/healthz')).status).toBe(200)
})

test('a folder of the database that is not there is made', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'a new/folder/shop.db')
  expect((await run(['seed', '--database', `sqlite:${file}`, '--reviews', '0'])).status).toBe(0)
  expect(existsSync(file)).toBe(true)
})

test('a database path may hold blanks, colons, question marks, percent signs and letters of any script', async () => {
  using folder = temporaryFolder()
  for (const name of ['our shop.db', 'shop:1.db', 'shop?mode=memory', 'shop%20.db', 'магазин.db']) {
    const file = join(folder.path, name)
    const seeded = await run(['seed', '--database', `sqlite:${file}`, '--products', '3', '--reviews', '0'])
    expect(seeded, name).toMatchObject({ status: 0 })
    expect(statSync(file).size, name).toBeGreaterThan(0)
  }
})

test('the database is readable by its owner alone', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await using service = await startServer(['serve'], { environment: { ...LOOPBACK, DATABASE_URL: `sqlite:${file}` } })
  await client(() => service.address).create('/categories/', { name: 'Garden', description: 'All for the garden' })
  const modes = ['', '-wal', '-shm'].map(ending => (statSync(file + ending).mode & 0o777).toString(8))
  expect(modes).toEqual(['600', '600', '600'])
})

test('a database file that others may read keeps its mode, and the log says so; one of its owner alone is no matter', async () => {
  for (const [mode, warnings] of [
    [0o644, 1],
    [0o600, 0],
  ] as const) {
    using folder = temporaryFolder()
    const file = join(folder.path, 'shop.db')
    writeFileSync(file, '')
    chmodSync(file, mode)
    const service = await startServer(['serve'], { environment: { ...LOOPBACK, DATABASE_URL: `sqlite:${file}` } })
    expect(await service.stop()).toBe(0)
    expect(statSync(file).mode & 0o777).toBe(mode)
    const lines = service.errors().split('\n')
    const told = lines.filter(line => line.includes('other users of this machine may use the database file'))
    expect(told).toHaveLength(warnings)
    for (const line of told) expect(JSON.parse(line)).toMatchObject({ level: 'warning', path: file, mode: '644' })
  }
})

test('a bad value of a variable is refused by the name of the variable', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  for (const [variable, value] of BAD_VALUES) {
    const environment = { ...LOOPBACK, DATABASE_URL: `sqlite:${file}`, [variable]: value }
    const refused = await run(['serve'], { environment })
    expectRefusal(refused, { status: 2, reason: new RegExp(`\\b${variable}\\b`) }, `${variable}=${value}`)
  }
})

test('a bad value of a flag is refused by the name of the flag', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  for (const [variable, value] of [
    ['HOST', ''],
    ['PORT', ''],
    ['PORT', '-1'],
    ['DATABASE_URL', ''],
    ['DATABASE_URL', 'nonsense'],
    ['CORS_ORIGINS', 'nonsense'],
    ['ACCESS_LOG', ''],
    ['LOG_LEVEL', ''],
  ] as const) {
    const flag = FLAGS[variable]
    const environment = { ...LOOPBACK, DATABASE_URL: `sqlite:${file}` }
    const refused = await run(['serve', `${flag}=${value}`], { environment })
    expectRefusal(refused, { status: 2, reason: new RegExp(`${flag}\\b`) }, `${flag}=${value}`)
  }
})

test('a bad size is refused by the name of its flag', async () => {
  using folder = temporaryFolder()
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  for (const [flag, value] of [
    ['--products', 'many'],
    ['--products', '1.5'],
    ['--products', '1e3'],
    ['--products', ''],
    ['--users', '0x10'],
    ['--reviews', '99999999999999999999'],
    ['--categories', '10001'],
  ] as const) {
    const refused = await run(['seed', '--database', database, `${flag}=${value}`])
    expectRefusal(refused, { status: 2, reason: new RegExp(`${flag}\\b`) }, `${flag}=${value}`)
  }
})

test('a program that is stopped by a wrong setting has made no database', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  for (const wrong of [
    ['serve', '--port', 'nonsense'],
    ['serve', '--host', ''],
    ['serve', '--cors-origins', 'nonsense'],
    ['serve', '--access-log', 'nonsense'],
    ['serve', '--log-level', 'nonsense'],
    ['serve', 'nonsense'],
    ['seed', '--products', 'nonsense'],
    ['seed', '--products', '0', '--reviews', '1'],
    ['seed', 'nonsense'],
    ['backup'],
  ]) {
    const refused = await run(wrong, { environment: { DATABASE_URL: `sqlite:${file}` } })
    expect(refused.status, wrong.join(' ')).toBe(2)
    expect(existsSync(file), `${wrong.join(' ')}: the database is there`).toBe(false)
  }
})

test('a wrong setting is told before the fault of a database that cannot be opened', async () => {
  using folder = temporaryFolder()
  const notADatabase = join(folder.path, 'notes.txt')
  await Bun.write(notADatabase, 'Buy milk.\n'.repeat(1_000))
  const environment = { ...LOOPBACK, DATABASE_URL: `sqlite:${notADatabase}`, PORT: 'nonsense' }
  expectRefusal(await run(['serve'], { environment }), { status: 2, reason: /PORT/ })
})

test('a password in a database URL is never printed, wherever the URL stands and whatever is wrong with it', async () => {
  using folder = temporaryFolder()
  const secret = 'hunter2-do-not-tell'
  const url = (scheme: string) => `${scheme}://shop:${secret}@127.0.0.1:1/shop`
  for (const { argv, environment } of [
    { argv: ['serve', '--port', '0'], environment: { DATABASE_URL: `${url('postgres')}?sslmode=${secret}` } },
    { argv: ['serve', '--port', '0'], environment: { DATABASE_URL: url('postgres').replace(':1/', ':no/') } },
    { argv: ['serve', '--port', '0'], environment: { DATABASE_URL: url('mysql') } },
    { argv: ['serve', '--port', '0'], environment: { DATABASE_URL: url(' postgres') } },
    { argv: ['serve', '--port', '0', '--database', `${url('postgresql')}?${secret}=1`], environment: {} },
    { argv: ['seed', '--reviews', '0'], environment: { DATABASE_URL: url('postgresql') } },
    { argv: ['backup', join(folder.path, 'copy.db')], environment: { DATABASE_URL: url('postgres') } },
  ]) {
    const refused = await run(argv, { environment: { ...environment, HOST: '127.0.0.1' } })
    const row = `${argv.join(' ')} ${JSON.stringify(environment)}`
    expect(refused.status, row).not.toBe(0)
    expect(refused.errors, row).toMatch(/^stockroom: .*\n$/)
    expect(refused.output + refused.errors, row).not.toContain(secret)
  }
})

test('a service that waits for its database says where it looks for it, without the password', async () => {
  const secret = 'hunter2-do-not-tell'
  await using service = await startService(`postgres://shop:${secret}@127.0.0.1:1/shop`)
  await until(async () => service.errors().includes('127.0.0.1:1/shop'))
  expect(await service.stop()).toBe(0)
  expect(service.output() + service.errors()).not.toContain(secret)
})

test('the password of a database is read from its own variable, or from a file', async () => {
  using folder = temporaryFolder()
  const secret = 'hunter2-do-not-tell'
  const file = join(folder.path, 'password')
  await Bun.write(file, `${secret}\n`)
  const address = 'postgres://shop@127.0.0.1:1/shop'
  for (const environment of [{ DATABASE_PASSWORD: secret }, { DATABASE_PASSWORD_FILE: file }]) {
    const refused = await run(['seed', '--database', address], { environment })
    expectRefusal(refused, { status: 1, reason: /127\.0\.0\.1:1\/shop/ })
    expect(refused.errors).not.toContain(secret)
  }
  const both = { DATABASE_PASSWORD: secret, DATABASE_PASSWORD_FILE: file }
  expectRefusal(await run(['seed', '--database', address], { environment: both }), {
    status: 2,
    reason: /DATABASE_PASSWORD/,
  })
  const missing = { DATABASE_PASSWORD_FILE: join(folder.path, 'nothing') }
  expectRefusal(await run(['seed', '--database', address], { environment: missing }), { status: 2, reason: /_FILE/ })
})

test('a password in a database URL whose flag was forgotten is not printed either', async () => {
  const secret = 'hunter2-do-not-tell'
  for (const argv of [
    ['serve', `postgres://shop:${secret}@127.0.0.1:1/shop`],
    ['seed', `postgres://shop:${secret}@127.0.0.1:1/shop`],
    [`postgres://shop:${secret}@127.0.0.1:1/shop`],
    ['serve', `--databse=postgres://shop:${secret}@127.0.0.1:1/shop`],
  ]) {
    const refused = await run(argv)
    expectRefusal(refused, { status: 2, reason: /./ }, argv.join(' '))
    expect(refused.errors, argv.join(' ')).not.toContain(secret)
  }
})

test('pages of the origins that are named may call the service, and learn what the headers say', async () => {
  using folder = temporaryFolder()
  await using service = await startServer(['serve'], {
    environment: {
      ...LOOPBACK,
      DATABASE_URL: `sqlite:${join(folder.path, 'shop.db')}`,
      CORS_ORIGINS: `${SHOP} , ${BACK_OFFICE}`,
    },
  })
  const api = client(() => service.address)
  for (const origin of [SHOP, BACK_OFFICE]) {
    const read = await api.get('/products/', { Origin: origin })
    expect(read.headers.get('Access-Control-Allow-Origin')).toBe(origin)
    expect(read.headers.get('Access-Control-Expose-Headers')).toContain('Link')
    const preflight = await api.send('/products/1', {
      method: 'OPTIONS',
      headers: {
        Origin: origin,
        'Access-Control-Request-Method': 'PUT',
        'Access-Control-Request-Headers': 'content-type',
      },
    })
    expect(preflight.status).toBeLessThan(300)
    expect(preflight.headers.get('Access-Control-Allow-Origin')).toBe(origin)
    expect(preflight.headers.get('Access-Control-Allow-Methods')).toContain('PUT')
    expect(preflight.headers.get('Access-Control-Allow-Headers')?.toLowerCase()).toContain('content-type')
  }
  for (const origin of ['https://shop.example.evil.example', 'http://shop.example', 'https://office.example', 'null']) {
    const read = await api.get('/products/', { Origin: origin })
    expect(read.headers.get('Access-Control-Allow-Origin'), origin).toBe(null)
  }
})

test('pages of any origin may call a service whose origins are *', async () => {
  using folder = temporaryFolder()
  await using service = await startServer(['serve', '--cors-origins', '*'], {
    environment: { ...LOOPBACK, DATABASE_URL: `sqlite:${join(folder.path, 'shop.db')}` },
  })
  const read = await client(() => service.address).get('/products/', { Origin: 'https://anywhere.example' })
  expect(read.headers.get('Access-Control-Allow-Origin')).toBe('*')
})

test('pages of other origins may not call a service that names none', async () => {
  using folder = temporaryFolder()
  await using service = await startServer(['serve'], {
    environment: { ...LOOPBACK, DATABASE_URL: `sqlite:${join(folder.path, 'shop.db')}` },
  })
  const api = client(() => service.address)
  expect((await api.get('/products/', { Origin: SHOP })).headers.get('Access-Control-Allow-Origin')).toBe(null)
  const preflight = await api.send('/products/', {
    method: 'OPTIONS',
    headers: { Origin: SHOP, 'Access-Control-Request-Method': 'POST' },
  })
  expect(preflight.headers.get('Access-Control-Allow-Origin')).toBe(null)
})

const FLAGS = {
  HOST: '--host',
  PORT: '--port',
  DATABASE_URL: '--database',
  CORS_ORIGINS: '--cors-origins',
  ALLOWED_HOSTS: '--allowed-hosts',
  TRUSTED_PROXIES: '--trusted-proxies',
  CONNECTIONS_MAX: '--connections-max',
  ACCESS_LOG: '--access-log',
  LOG_LEVEL: '--log-level',
} as const

const BAD_VALUES: readonly (readonly [variable: keyof typeof FLAGS, value: string])[] = [
  ['HOST', ' '],
  ['PORT', 'nonsense'],
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', '80.5'],
  ['PORT', '8e3'],
  ['PORT', '0x50'],
  ['PORT', ' 80'],
  ['DATABASE_URL', 'nonsense'],
  ['DATABASE_URL', 'mysql://127.0.0.1/shop'],
  ['DATABASE_URL', 'sqlite'],
  ['DATABASE_URL', 'sqlite:'],
  ['CORS_ORIGINS', 'shop.example'],
  ['CORS_ORIGINS', 'https://shop.example/path'],
  ['CORS_ORIGINS', 'https://shop.example/'],
  ['CORS_ORIGINS', `${SHOP},nonsense`],
  ['ALLOWED_HOSTS', 'https://shop.example'],
  ['ALLOWED_HOSTS', 'shop.example:8000'],
  ['ALLOWED_HOSTS', '*.shop.example'],
  ['TRUSTED_PROXIES', '-1'],
  ['TRUSTED_PROXIES', '10.0.0.1'],
  ['CONNECTIONS_MAX', '0'],
  ['CONNECTIONS_MAX', 'many'],
  ['ACCESS_LOG', 'yes'],
  ['ACCESS_LOG', 'ON'],
  ['LOG_LEVEL', 'verbose'],
  ['LOG_LEVEL', 'INFO'],
]

/** Something that listens on a free port of this machine. */
function listener(): Disposable & { readonly port: number } {
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => {} } })
  return { port: server.port, [Symbol.dispose]: () => server.stop(true) }
}

test('a database in memory is refused, since all of it would be lost at the end', async () => {
  const refused = await run(['seed', '--database', 'sqlite::memory:'])
  expectRefusal(refused, { status: 2, reason: /path of a file/ })
})
