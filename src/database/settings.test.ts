import { expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, existsSync, linkSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { client } from '../../test/harness/client.ts'
import { expectRefusal } from '../../test/harness/refusal.ts'
import { run, startServer, startService } from '../../test/harness/service.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'
import { until } from '../../test/harness/until.ts'

/** Each of these starts the program, some of them many times. */
setDefaultTimeout(120_000)

/** The variables that say where a test's service listens. */
const LOOPBACK = { HOST: '127.0.0.1', PORT: '0' }

test('without settings, the database is data/stockroom.db in the working folder, and the service listens on all addresses', async () => {
  using folder = temporaryFolder()
  await using service = await startServer(['serve', '--port', '0'], { folder: folder.path })
  expect(service.address).toMatch(/^http:\/\/localhost:[0-9]+$/)
  expect(existsSync(join(folder.path, 'data/stockroom.db'))).toBe(true)
  const { port } = new URL(service.address)
  expect((await client(() => `http://127.0.0.1:${port}`).get('/healthz')).status).toBe(200)
})

test('a missing folder of the database is created', async () => {
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

test('a database path with white space at an end is refused, because SQLite would leave it out', async () => {
  using folder = temporaryFolder()
  for (const path of ['shop.db\r', 'shop.db ', ' shop.db', '// shop.db']) {
    const refused = await run(['seed'], { folder: folder.path, environment: { DATABASE_URL: `sqlite:${path}` } })
    expectRefusal(refused, { status: 2, reason: /DATABASE_URL: the file path begins or ends with white space/ }, path)
  }
  expect(readdirSync(folder.path)).toEqual([])
})

test('a parameter that an address has twice, or that is unknown, is refused', async () => {
  for (const [query, reason] of [
    ['sslmode=disable&sslmode=verify-full', /the address has sslmode more than once/],
    ['options=-csearch_path%3Dshop', /the address has an unknown parameter; the known ones are sslmode/],
  ] as const) {
    const refused = await run(['seed', '--database', `postgres://shop@127.0.0.1:1/shop?${query}`])
    expectRefusal(refused, { status: 2, reason }, query)
  }
})

test('an address of several PostgreSQL servers is refused, and a comma in a user or password is not', async () => {
  const reason = /DATABASE_URL: the address has several hosts/
  for (const place of [
    '127.0.0.1,127.0.0.2:15432',
    '127.0.0.1:15432,127.0.0.2:15432',
    'shop,1:a,b@127.0.0.1,127.0.0.2',
  ]) {
    const refused = await run(['seed'], { environment: { DATABASE_URL: `postgres://${place}/shop` } })
    expectRefusal(refused, { status: 2, reason }, place)
  }
  const reached = await run(['seed'], { environment: { DATABASE_URL: 'postgres://shop,1:a,b@127.0.0.1:1/a,b' } })
  expectRefusal(reached, { status: 1, reason: /the database 127\.0\.0\.1:1\/a,b cannot be used/ })
})

test('a slash in the password of an address is refused with the way to write it, and an escaped one is part of the password', async () => {
  const reason = /DATABASE_URL: the address has an @ after the host; write \/ in a user or password as %2F/
  for (const password of ['/a', '47/a']) {
    const refused = await run(['seed'], {
      environment: { DATABASE_URL: `postgres://shop:${password}@127.0.0.1:1/shop` },
    })
    expectRefusal(refused, { status: 2, reason }, password)
  }
  const reached = await run(['seed'], { environment: { DATABASE_URL: 'postgres://shop:%2Fa@127.0.0.1:1/shop%40home' } })
  expectRefusal(reached, { status: 1, reason: /the database 127\.0\.0\.1:1\/shop@home cannot be used/ })
})

test('the database is readable by its owner alone', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await using service = await startServer(['serve'], { environment: { ...LOOPBACK, DATABASE_URL: `sqlite:${file}` } })
  await client(() => service.address).create('/categories/', { name: 'Garden', description: 'All for the garden' })
  const modes = ['', '-wal', '-shm'].map(ending => (statSync(file + ending).mode & 0o777).toString(8))
  expect(modes).toEqual(['600', '600', '600'])
})

test('a database file that others may read keeps its mode and is logged; one that only its owner can read is not', async () => {
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

test('variables for PostgreSQL that have no effect on a SQLite database are logged, without the password', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  const secret = 'hunter2-do-not-tell'
  const unused = { DATABASE_PASSWORD: secret, DATABASE_POOLER: 'transaction', DATABASE_DISTRIBUTION: 'none' }
  await using service = await startService(`sqlite:${file}`, { environment: unused })
  expect(await service.stop()).toBe(0)
  const lines = service.errors().split('\n')
  const told = lines.filter(line => line.includes('has no effect on a SQLite database')).map(line => JSON.parse(line))
  expect(told).toMatchObject([
    { level: 'warning', variable: 'DATABASE_PASSWORD', path: file },
    { level: 'warning', variable: 'DATABASE_POOLER', path: file },
  ])
  expect(service.output() + service.errors()).not.toContain(secret)
})

test('a database file with a second name is logged at each start, because two processes must not use different ones', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  const warnings = async () => {
    await using service = await startServer(['serve'], { environment: { ...LOOPBACK, DATABASE_URL: `sqlite:${file}` } })
    await service.stop()
    return (
      service
        .errors()
        .match(/^.*the database file has another name.*$/gm)
        ?.map(line => JSON.parse(line)) ?? []
    )
  }
  expect(await warnings()).toEqual([])
  linkSync(file, join(folder.path, 'second.db'))
  expect(await warnings()).toMatchObject([{ level: 'warning', path: file }])
  rmSync(join(folder.path, 'second.db'))
  symlinkSync(file, join(folder.path, 'second.db'))
  expect(await warnings()).toEqual([])
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
    // Every parser takes the rest for the name of the database, and the user for the host.
    { argv: ['seed', '--reviews', '0'], environment: { DATABASE_URL: url('postgres').replace(secret, `/${secret}`) } },
    {
      argv: ['seed', '--reviews', '0'],
      environment: { DATABASE_URL: url('postgres').replace(secret, `47/${secret}`) },
    },
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

test('a database in memory is refused, because all of it would be lost at the end', async () => {
  for (const address of ['sqlite::memory:', 'sqlite://:memory:', 'sqlite://']) {
    const refused = await run(['seed', '--database', address])
    expectRefusal(refused, { status: 2, reason: /file path/ }, address)
  }
})
