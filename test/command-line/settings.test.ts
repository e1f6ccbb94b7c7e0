import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { catalog } from '../../src/catalog/part.ts'
import { readCommandLine, type Setting } from '../../src/program/config.ts'
import type { SettingError } from '../../src/program/operator-error.ts'
import { client } from '../harness/client.ts'
import { expectRefusal } from '../harness/refusal.ts'
import { run, startServer } from '../harness/service.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'

/** Each of these starts the program, some of them many times. */
setDefaultTimeout(120_000)

const SHOP = 'https://shop.example'
const BACK_OFFICE = 'https://office.example:8443'

/** The variables that say where a test's service listens. */
const LOOPBACK = { HOST: '127.0.0.1', PORT: '0' }

test('each setting is read from its variable', async () => {
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

test('each setting is read from its flag, whatever nonsense its variable holds', async () => {
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

test('the port and the host are read from the variables: a port in use is refused by its name', async () => {
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

test('if a flag is given twice, the last one counts', async () => {
  using folder = temporaryFolder()
  const [first, last] = [join(folder.path, 'first.db'), join(folder.path, 'last.db')]
  const sizes = ['--products', '1', '--users', '0', '--reviews', '0', '--categories', '0']
  const ran = await run(['seed', '--database', `sqlite:${first}`, '--database', `sqlite:${last}`, ...sizes])
  expect(ran.status).toBe(0)
  expect([existsSync(first), existsSync(last)]).toEqual([false, true])
})

test('an empty variable is ignored', async () => {
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

test('a bad value of a variable is refused by the name of the variable', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  const environment = { ...LOOPBACK, DATABASE_URL: `sqlite:${file}`, PORT: 'nonsense' }
  expectRefusal(await run(['serve'], { environment }), { status: 2, reason: /\bPORT\b/ })
  const line = readCommandLine([], settingsOf('serve'))
  for (const [variable, value] of BAD_VALUES) {
    const setting = settingsOf('serve').find(({ flag }) => flag === FLAGS[variable])
    using _ = withVariable(variable, value)
    expect(() => setting && line.value(setting), `${variable}=${value}`).toThrow(refusal(variable))
  }
})

test('a bad value of a flag is refused by the name of the flag', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  const environment = { ...LOOPBACK, DATABASE_URL: `sqlite:${file}` }
  expectRefusal(await run(['serve', '--port=-1'], { environment }), { status: 2, reason: /--port\b/ })
  const empty = await run(['export', '--resource='], { environment })
  expectRefusal(empty, { status: 2, reason: /--resource: a value is required/ })
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
    expectBadFlag('serve', FLAGS[variable], value)
  }
})

test('a bad size is refused by the name of its flag', async () => {
  using folder = temporaryFolder()
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  const refused = await run(['seed', '--database', database, '--products=many'])
  expectRefusal(refused, { status: 2, reason: /--products\b/ })
  for (const [flag, value] of [
    ['products', '1.5'],
    ['products', '1e3'],
    ['products', ''],
    ['users', '0x10'],
    ['reviews', '99999999999999999999'],
    ['categories', '10001'],
  ] as const) {
    expectBadFlag('seed', flag, value)
  }
})

test('a host that is neither an address nor a name is refused by its flag', async () => {
  for (const host of ['::g', '[::g]', '[::1', 'localhost:80', 'http://localhost', 'a b', '*', 'läden.example', '%']) {
    const reason = /^stockroom: --host: .* is neither an address, for example 127\.0\.0\.1, nor the name of a host$/m
    expectRefusal(await run(['serve', '--host', host, '--port', '0']), { status: 2, reason }, host)
  }
})

test('a program stopped by a wrong setting has created no database', async () => {
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

test('a wrong setting is reported before a database that cannot be opened', async () => {
  using folder = temporaryFolder()
  const notADatabase = join(folder.path, 'notes.txt')
  await Bun.write(notADatabase, 'Buy milk.\n'.repeat(1_000))
  const environment = { ...LOOPBACK, DATABASE_URL: `sqlite:${notADatabase}`, PORT: 'nonsense' }
  expectRefusal(await run(['serve'], { environment }), { status: 2, reason: /PORT/ })
})

test('pages of the configured origins may call the service and read the exposed headers', async () => {
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

test('without configured origins, pages of other origins may not call the service', async () => {
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
  HOST: 'host',
  PORT: 'port',
  WORKERS: 'workers',
  DATABASE_URL: 'database',
  CORS_ORIGINS: 'cors-origins',
  ALLOWED_HOSTS: 'allowed-hosts',
  TRUSTED_PROXIES: 'trusted-proxies',
  CONNECTIONS_MAX: 'connections-max',
  RATE_LIMIT: 'rate-limit',
  ACCESS_LOG: 'access-log',
  LOG_LEVEL: 'log-level',
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
  ['WORKERS', '0'],
  ['WORKERS', '257'],
  ['WORKERS', '1.5'],
  ['WORKERS', 'all'],
  ['DATABASE_URL', 'nonsense'],
  ['DATABASE_URL', 'mysql://127.0.0.1/shop'],
  ['DATABASE_URL', 'sqlite'],
  ['DATABASE_URL', 'sqlite:'],
  ['CORS_ORIGINS', 'shop.example'],
  ['CORS_ORIGINS', 'https://shop.example/path'],
  ['CORS_ORIGINS', 'https://shop.example/'],
  ['CORS_ORIGINS', 'https://*.shop.example'],
  ['CORS_ORIGINS', `${SHOP},nonsense`],
  ['ALLOWED_HOSTS', 'https://shop.example'],
  ['ALLOWED_HOSTS', 'shop.example:8000'],
  ['ALLOWED_HOSTS', '*.shop.example'],
  ['TRUSTED_PROXIES', '-1'],
  ['TRUSTED_PROXIES', '10.0.0.1'],
  ['CONNECTIONS_MAX', '0'],
  ['CONNECTIONS_MAX', 'many'],
  ['RATE_LIMIT', '100'],
  ['RATE_LIMIT', '0/s'],
  ['RATE_LIMIT', '1.5/s'],
  ['RATE_LIMIT', '100/day'],
  ['RATE_LIMIT', 'on'],
  ['ACCESS_LOG', 'yes'],
  ['ACCESS_LOG', 'ON'],
  ['LOG_LEVEL', 'verbose'],
  ['LOG_LEVEL', 'INFO'],
]

/** The settings of a command of the catalog. The values of its flags are parsed here, because a process for each takes long. */
function settingsOf(name: string): readonly Setting<unknown>[] {
  const command = catalog.commands.find(command => command.name === name)
  expect(command, name).toBeDefined()
  return command?.settings ?? []
}

function expectBadFlag(command: string, flag: string, value: string): void {
  const settings = settingsOf(command)
  const setting = settings.find(setting => setting.flag === flag)
  const line = readCommandLine([`--${flag}=${value}`], settings)
  expect(() => setting && line.value(setting), `--${flag}=${value}`).toThrow(refusal(`--${flag}`))
}

function refusal(name: string): SettingError {
  return expect.objectContaining({ name: 'SettingError', message: expect.stringMatching(new RegExp(`^${name}: .+$`)) })
}

/** The variable has this value until it is disposed of. */
function withVariable(name: string, value: string): Disposable {
  const before = process.env[name]
  process.env[name] = value
  return {
    [Symbol.dispose]: () => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    },
  }
}

/** A listener on a free loopback port. */
function listener(): Disposable & { readonly port: number } {
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => {} } })
  return { port: server.port, [Symbol.dispose]: () => server.stop(true) }
}
