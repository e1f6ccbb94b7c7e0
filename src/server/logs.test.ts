import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { spawnSync } from 'bun'
import { type Client, client } from '../../test/harness/client.ts'
import { sendLines } from '../../test/harness/raw-http.ts'
import { sample } from '../../test/harness/samples.ts'
import { run, startService } from '../../test/harness/service.ts'
import { type Shop, startShop } from '../../test/harness/shop.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'
import { until } from '../../test/harness/until.ts'

setDefaultTimeout(120_000)

/** Requests whose log lines, which have their path twice, overflow a pipe and the backlog together. */
const REQUESTS_OVER_THE_BACKLOG = 300
const LONG_PATH = `/${'x'.repeat(4_000)}`

/** The service of all tests that need no settings of their own. */
let shop: Shop
beforeAll(async () => {
  shop = await startShop()
})
afterAll(() => shop[Symbol.asyncDispose]())

test('the ready line has the address, alone on the first line of standard output', async () => {
  const [first = ''] = shop.service.output().split('\n')
  expect(first).toStartWith(
    `stockroom serves the store catalog at ${shop.service.address}, its documentation at /docs; ` +
      'anyone who can reach it may read and change everything (AUTH=off); the database /',
  )
  expect(first).toEndWith('.db is new')
  expect(shop.service.errors()).not.toContain('serves the store catalog')
})

test('on an empty catalog, one line says how to fill this database, and on a catalog with data of any kind, none', async () => {
  using folder = temporaryFolder()
  const databaseUrl = `sqlite:${join(folder.path, "my wife's shop.db")}`
  const quoted = `'${databaseUrl.replace("'", "'\\''")}'`
  const linesAfterChange = async (change: (api: Client) => Promise<unknown>) => {
    await using service = await startService(databaseUrl)
    await change(client(() => service.address))
    await service.stop()
    expect(service.errors()).not.toContain('seed')
    return service.output().trimEnd().split('\n')
  }
  let rowPath = ''
  const replaceRow = (path: string, body: unknown) => async (api: Client) => {
    if (rowPath !== '') expect((await api.delete(rowPath)).status).toBe(200)
    rowPath = path + (await api.create(path, body))
  }
  expect(await linesAfterChange(replaceRow('/categories/', sample.category))).toEqual([
    expect.stringMatching(/ at http:/),
    expect.stringContaining(`stockroom seed --database ${quoted}\` fills it with sample data`),
  ])
  expect(await linesAfterChange(replaceRow('/products/', sample.product)), 'a category').toHaveLength(1)
  expect(await linesAfterChange(replaceRow('/users/', sample.user)), 'a product').toHaveLength(1)
  expect(await linesAfterChange(async () => {}), 'a user').toHaveLength(1)
})

test('each line on standard error is a JSON object with its time, its level and a message', async () => {
  const before = shop.lines().length
  await shop.api.create('/products/', sample.product)
  await shop.api.get('/products/')
  await shop.api.post('/products/', { name: 'ab' })
  await logged(shop)
  const lines = shop.lines()
  expect(lines.length).toBeGreaterThan(before + 3)
  for (const { time, level, message } of lines) {
    expect(new Date(String(time)).toISOString()).toBe(String(time))
    expect(level).toBeString()
    expect(message).toBeString()
  }
})

test('a request has one line, with its id, method, path and status', async () => {
  const id = await shop.api.create('/products/', sample.product)
  const answers = {
    'GET /products/ 200': await shop.api.get('/products/?skip=0&limit=5'),
    [`PUT /products/${id} 200`]: await shop.api.put(`/products/${id}`, sample.product),
    'PUT /products/0 404': await shop.api.put('/products/0', sample.product),
    'POST /products/ 422': await shop.api.post('/products/', {}),
    'GET /products 307': await shop.api.get('/products'),
    'PATCH /products/ 405': await shop.api.patch('/products/', {}),
    'GET /nowhere 404': await shop.api.get('/nowhere'),
    'POST /reviews/ 413': await shop.api.post('/reviews/', { comment: 'x'.repeat(1_100_000) }),
    'HEAD /products/ 200': await shop.api.send('/products/', { method: 'HEAD' }),
  }
  await logged(shop)
  const lines = shop.lines()
  for (const [wanted, { headers, status }] of Object.entries(answers)) {
    const requestId = headers.get('X-Request-Id')
    const [method, path] = wanted.split(' ')
    expect(
      lines.filter(line => line.request_id === requestId),
      wanted,
    ).toEqual([expect.objectContaining({ method, path, status, request_id: requestId })])
    expect(`${method} ${path} ${status}`).toBe(wanted)
  }
})

test('the line of a request names the client: by its socket, or behind proxies as they saw it', async () => {
  await using proxied = await startShop({ flags: ['--trusted-proxies', '1'] })
  const headers = { 'X-Forwarded-For': '6.6.6.6, 2001:db8::7' }
  for (const { api } of [shop, proxied]) await api.get('/behind-proxies', headers)
  await logged(shop)
  await logged(proxied)
  const clients = (lines: Record<string, unknown>[]) =>
    lines.filter(({ path }) => path === '/behind-proxies').map(({ client }) => client)
  expect(clients(shop.lines())).toEqual(['127.0.0.1'])
  expect(clients(proxied.lines())).toEqual(['2001:db8::7'])
})

test("a client that leaves amid its body is not an error: its line has status 499 and the client's address", async () => {
  const bodies = ['Content-Length: 100\r\n\r\n{"name":', 'Transfer-Encoding: chunked\r\n\r\n5\r\n{"nam\r\n']
  for (const body of bodies) {
    await leaveAmid(
      shop.service.address,
      `POST /products/ HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n${body}`,
    )
  }
  const linesOfThose = () => shop.lines().filter(({ status }) => status === 499)
  await until(() => linesOfThose().length >= bodies.length)
  await logged(shop)
  const lines = linesOfThose()
  expect(lines.map(({ level, path, client }) => ({ level, path, client }))).toEqual(
    bodies.map(() => ({ level: 'info', path: '/products/', client: '127.0.0.1' })),
  )
  expect(shop.lines().filter(({ level }) => level === 'error')).toEqual([])
})

test('a request id sent by the client is kept in the answer and the log', async () => {
  const sane = ['7', 'checkout-42', '0190f3c2-7d5e-7b7a-9d0a-3a1f5f3f2c11', 'a.b:c_d', 'x'.repeat(128)]
  for (const id of sane) {
    const answer = await shop.api.get('/healthz', { 'X-Request-Id': id })
    expect(answer.headers.get('X-Request-Id')).toBe(id)
  }
  await logged(shop)
  const ids = shop.lines().map(line => line.request_id)
  for (const id of sane) expect(ids).toContain(id)
})

test('an invalid request id is replaced, in the answer and the log', async () => {
  const unfit = [
    'x'.repeat(129),
    'two words',
    '"quoted"',
    '<b>',
    '{"level":"error"}',
    'caf\u00e9',
    'a;b',
    'one, two',
    '',
  ]
  for (const id of unfit) {
    const answer = await shop.api.get('/healthz', { 'X-Request-Id': id })
    expect(answer.headers.get('X-Request-Id'), id).toMatch(/^[A-Za-z0-9-]{16,128}$/)
    expect(answer.headers.get('X-Request-Id'), id).not.toBe(id)
  }
  await logged(shop)
  const ids = shop.lines().map(line => String(line.request_id))
  for (const id of unfit) expect(ids).not.toContain(id)
})

test('requests without an id get ids of their own', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => shop.api.get('/healthz')))
  expect(new Set(answers.map(({ headers }) => headers.get('X-Request-Id'))).size).toBe(50)
})

test('the access log can be switched off, and other lines stay', async () => {
  await using shop = await startShop({ flags: ['--access-log', 'off'] })
  await shop.api.create('/products/', sample.product)
  await shop.api.get('/nowhere')
  await shop.service.stop()
  expect(shop.lines().filter(line => 'path' in line)).toEqual([])
  expect(shop.lines().length).toBeGreaterThan(0)
})

test('a log level leaves out less important lines', async () => {
  await using shop = await startShop({ flags: ['--log-level', 'error'] })
  await shop.api.create('/products/', sample.product)
  breakTable(shop, 'reviews')
  expect((await shop.api.get('/products/')).status).toBe(500)
  await shop.service.stop()
  expect(shop.lines().map(line => line.level)).toEqual(['error'])
})

test('no password, query, body or header appears in the output, whatever the answer is', async () => {
  await using shop = await startShop({ flags: ['--log-level', 'debug'] })
  const secret = 'hunter2-do-not-tell'
  const json = { 'Content-Type': 'application/json' }
  const user = { ...sample.user, password: secret }
  const id = await shop.api.create('/users/', user)
  const statuses = [
    await shop.api.patch(`/users/${id}`, { ...user, name: secret }),
    await shop.api.post('/users/', { password: secret, name: 5 }),
    await shop.api.post('/users/', `not an object ${secret}`),
    await shop.api.send('/users/', { method: 'POST', body: `{"password": "${secret}`, headers: json }),
    await shop.api.post('/users/', { password: secret.repeat(70_000) }),
    await shop.api.get(`/users/?token=${secret}&skip=${secret}`),
    await shop.api.get(`/users?token=${secret}`),
    await shop.api.get(`/nowhere?token=${secret}`),
    await shop.api.get('/users/', { Authorization: `Bearer ${secret}`, Cookie: `session=${secret}`, Referer: secret }),
    await shop.api.patch(`/users/0?token=${secret}`, user),
  ].map(({ status }) => status)
  expect(statuses).toEqual([200, 422, 422, 422, 413, 422, 307, 404, 200, 404])
  breakTable(shop, 'users')
  expect((await shop.api.post('/users/', user)).status).toBe(500)
  expect((await shop.api.get(`/users/?token=${secret}`)).status).toBe(500)
  await shop.service.stop()
  expect(shop.lines().length).toBeGreaterThan(statuses.length)
  expect(shop.service.output() + shop.service.errors()).not.toContain(secret)
  expect(shop.service.output() + shop.service.errors()).not.toContain('$argon2')
})

test('a server error is answered 500 without its cause, and the log has the cause under the same id', async () => {
  await shop.api.create('/products/', sample.product)
  using _ = breakTable(shop, 'reviews')
  const answer = await shop.api.get('/products/')
  expect(answer.status).toBe(500)
  expect(answer.body).toEqual({ detail: 'Internal Server Error' })
  expect((await shop.api.get('/healthz')).status).toBe(200)
  await logged(shop)
  const requestId = answer.headers.get('X-Request-Id')
  const cause = shop.lines().find(line => line.level === 'error' && line.request_id === requestId)
  expect(JSON.stringify(cause ?? 'no line')).toContain('no such table')
})

test('a path cannot forge a line of the log', async () => {
  const before = shop.lines().length
  const { address } = shop.service
  await sendLines(address, 'GET /nowhere%0A{"level":"error","message":"forged"} HTTP/1.1', 'Host: h')
  await sendLines(address, 'GET /nowhere\u00c2\u009b31m HTTP/1.0', 'Host: @^')
  await sendLines(address, 'GET /nowhere\t"\\u000a{"level":"error"}\u0001 HTTP/1.1', 'Host: h')
  await logged(shop)
  const lines = shop.lines().slice(before)
  expect(lines.filter(line => line.level !== 'info' || line.message === 'forged')).toEqual([])
  expect(shop.service.errors()).not.toMatch(/[^\n\x20-\x7e]/)
})

test('a path is logged as it was sent, byte for byte, with and without a route', async () => {
  await using shop = await startShop({ flags: ['--workers', '2'] })
  const paths = [
    '/%3A/users/1',
    '/a%e4b',
    '/a%2fb/',
    '/%41',
    '/a:b;c=%3b',
    '/users/%e4',
    '/users/%31',
    '/a/..\\b',
    '/users/..\\b',
  ]
  for (const path of paths) await sendLines(shop.service.address, `GET ${path}?secret HTTP/1.1`, 'Host: h')
  await shop.service.stop()
  expect(shop.lines().flatMap(({ path }) => path ?? [])).toEqual(expect.arrayContaining(paths))
})

test('a log reader that stops reading does not hold up the service, and learns later what it missed', async () => {
  using folder = temporaryFolder()
  const pipe = join(folder.path, 'log')
  expect(spawnSync(['mkfifo', pipe]).exitCode).toBe(0)
  await using service = await startService(`sqlite:${join(folder.path, 'shop.db')}`, {
    // Opened for reading too, so that opening does not wait for a reader.
    through: ['bash', '-c', 'pipe=$1; shift; exec "$@" 2<>"$pipe"', 'bash', pipe],
  })
  const api = client(() => service.address)
  for (let sent = 0; sent < REQUESTS_OVER_THE_BACKLOG; sent += 1) expect((await api.get(LONG_PATH)).status).toBe(404)
  using reader = pipeReader(pipe)
  const idsAfterwards: string[] = []
  const log = await reader.until(async text => {
    const answer = await api.get('/healthz')
    idsAfterwards.push(answer.headers.get('X-Request-Id') ?? 'none')
    return idsAfterwards.some(id => text.includes(id))
  })
  const missed = log.split('\n').find(line => line.includes('log lines were dropped')) ?? '{}'
  const { time, dropped, ...others } = JSON.parse(missed)
  expect(dropped).toBeGreaterThan(0)
  expect(Date.now() - Date.parse(time)).toBeWithin(0, 120_000)
  expect(others).toEqual({ level: 'warning', logger: 'log', message: `${dropped} log lines were dropped` })
})

test('a log reader that goes away does not take the service down with it', async () => {
  await using shop = await startShop({
    through: ['bash', '-c', 'exec "$@" 2> >(head -n 1 >/dev/null)', 'bash'],
  })
  const { api, service } = shop
  for (let sent = 0; sent < 200; sent += 1) expect((await api.get('/healthz')).status).toBe(200)
  expect(await service.stop()).toBe(0)
})

test('seeding reports its progress on standard error, and its result on standard output', async () => {
  using folder = temporaryFolder()
  const { output, errors } = await run([
    ...['seed', '--products', '10'],
    ...['--database', `sqlite:${join(folder.path, 'shop.db')}`],
  ])
  expect(output.trimEnd().split('\n')).toHaveLength(1)
  expect(errors).toContain('products')
})

/** Resolves when the lines of all requests so far are there: the service writes them in their order. */
async function logged({ api, lines }: Shop): Promise<void> {
  const { headers } = await api.get('/healthz')
  await until(() => lines().some(line => line.request_id === headers.get('X-Request-Id')))
}

/** Takes a table away, so requests that need it fail; the result puts it back. */
function breakTable({ file }: Shop, table: string): Disposable {
  const rename = (from: string, to: string) => {
    using database = new Database(file)
    database.run(`ALTER TABLE ${from} RENAME TO ${to}`)
  }
  rename(table, `${table}_taken_away`)
  return { [Symbol.dispose]: () => rename(`${table}_taken_away`, table) }
}

/** Sends part of a request and leaves. */
async function leaveAmid(address: string, part: string): Promise<void> {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname)
  await new Promise(resolve => socket.write(part, resolve))
  // So that the server has started on it.
  await Bun.sleep(200)
  socket.destroy()
}

function pipeReader(pipe: string): Disposable & {
  /** Reads until `enough` says so and returns the text; `enough` may cause more output. */
  readonly until: (enough: (text: string) => Promise<boolean>) => Promise<string>
} {
  const descriptor = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
  const buffer = Buffer.alloc(65_536)
  let text = ''
  const readSome = () => {
    try {
      text += buffer.toString('utf8', 0, readSync(descriptor, buffer))
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
    }
  }
  return {
    until: async enough => {
      do readSome()
      while (!(await enough(text)))
      return text
    },
    [Symbol.dispose]: () => closeSync(descriptor),
  }
}
