import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, client } from '../../test/harness/client.ts'
import { sendLines } from '../../test/harness/raw-http.ts'
import { sample } from '../../test/harness/samples.ts'
import { type Service, startServer, startService } from '../../test/harness/service.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'

setDefaultTimeout(120_000)

const folder = temporaryFolder()
const databaseUrl = `sqlite:${join(folder.path, 'shop.db')}`
let shop: Service
let api: Client
let userId = 0

beforeAll(async () => {
  shop = await startService(databaseUrl)
  api = client(() => shop.address)
  userId = await api.create('/users/', sample.user)
  await api.create('/products/', sample.product)
  await api.create('/products/', sample.product)
})

afterAll(async () => {
  await shop.stop()
  folder[Symbol.dispose]()
})

/** Sends a request line and headers unchanged. */
function send(requestLine: string, ...headers: readonly string[]) {
  return sendLines(shop.address, requestLine, ...headers)
}

/** Targets written in another way that a URL parser turns into `/users/ID`. */
function disguises(id: number): string[] {
  return [
    `/products/..\\users/${id}`,
    `/products/../users/${id}`,
    `/products/%2e%2e/users/${id}`,
    `/products/%2E./users/${id}`,
    `/products\\..\\users/${id}`,
    `/products\\..\\users\\${id}`,
    `/users\\${id}`,
    `/./users/${id}`,
    `/users/./${id}`,
    `/users/x/../${id}`,
    `/users/x\\..\\${id}`,
    `/users/%\\..\\${id}`,
    `/x/y/../../users/${id}`,
    `/a/b/c/d/e/f/g/h/i/j/k/l/m/n/../../../../../../../../../../../../../../users/${id}`,
    `/users/${id}#`,
    `/users/${id}#/x`,
    `/users/${id}/.`,
    `/users/${id}/x/..`,
    `/users/${id}\\..\\${id}`,
    `/%75sers/${id}`,
    `//users/${id}`,
    `//x/../users/${id}`,
    `\\users\\${id}`,
    `http:/users/${id}`,
    `http:users/${id}`,
    `http://h/products/..\\users/${id}`,
    `http://h/products/../users/${id}`,
    `http://h\\users\\${id}`,
    `users/${id}`,
  ]
}

test('the runtime answers for no path of its own, such as one that tells its version and that of the system', async () => {
  for (const host of ['localhost', '127.0.0.1', '203.0.113.7']) {
    const { status, body } = await send('GET /bun:info HTTP/1.1', `Host: ${host}`)
    expect({ status, body }, host).toEqual({ status: 404, body: '{"detail":"Not Found"}' })
  }
})

test('a target is not served if parsing turns it into another path', async () => {
  for (const target of disguises(userId)) {
    for (const host of ['shop.example', '256.256.256.256', '']) {
      const { status } = await send(`GET ${target} HTTP/1.1`, `Host: ${host}`)
      expect([400, 404], `${target} of ${host}: ${status}`).toContain(status)
    }
    const { status } = await send(`GET ${target} HTTP/1.0`)
    expect([400, 404], `${target} without a host: ${status}`).toContain(status)
  }
  for (const target of ['/users/..', '/users/.', '/users/%2e%2e', '/users/..\\', '/users/..\\..', '*', '', '?x']) {
    const { status } = await send(`GET ${target} HTTP/1.1`, 'Host: shop.example')
    expect([400, 404], `${target}: ${status}`).toContain(status)
  }
})

test('nothing is deleted by a target that parsing turns into another path', async () => {
  for (const target of disguises(userId)) await send(`DELETE ${target} HTTP/1.1`, 'Host: shop.example')
  expect((await api.get(`/users/${userId}`)).status).toBe(200)
})

test('two parameters cannot be moved into others by parsing', async () => {
  const target = `/reviews/products/..\\..\\..\\reviews\\products\\1/users/${userId}`
  expect((await send(`GET ${target} HTTP/1.1`, 'Host: shop.example')).status).toBe(404)
})

test('a target is served by its path, even if a parameter or the query is spelled another way', async () => {
  const digits = String(userId).replaceAll(/\d/g, digit => `%3${digit}`)
  for (const target of [
    `/users/${digits}`,
    `/users/${userId}?x=/../y`,
    `/users/${userId}?\\..\\x`,
    `/users/+${userId}`,
  ]) {
    expect((await send(`GET ${target} HTTP/1.1`, 'Host: shop.example')).status, target).toBe(200)
  }
  for (const target of [
    '/users/%5c1',
    '/users/1%2F2',
    '/users/%2F..%2F',
    '/users/..%2fproducts',
    '/users/%23',
    '/users/"',
  ]) {
    expect((await send(`GET ${target} HTTP/1.1`, 'Host: shop.example')).status, target).toBe(422)
  }
})

test('without a Host, an HTTP/1.0 request is served by its path, and by no other', async () => {
  expect((await send('GET /healthz HTTP/1.0')).status).toBe(200)
  expect((await send(`GET /users/${userId} HTTP/1.0`)).body).toContain(sample.user.email)
  expect((await send('GET /products/?limit=1 HTTP/1.0')).headers.get('Link')).toBe(
    '</products/?skip=1&limit=1>; rel="next"',
  )
  expect((await send('GET /products?limit=1 HTTP/1.0')).headers.get('Location')).toBe('/products/?limit=1')
  for (const prefix of ['/ab', '/a/', '/products/a:bcd', '/:a', '/a:b', '/a:bc/']) {
    expect((await send(`GET ${prefix}/users/${userId} HTTP/1.0`)).status, prefix).toBe(404)
    expect((await send(`DELETE ${prefix}/users/${userId} HTTP/1.0`)).status, prefix).toBe(404)
  }
  expect((await send(`GET /users/${userId} HTTP/1.0`)).status).toBe(200)
})

test('an absolute target is served by its path, whatever its host', async () => {
  for (const origin of ['http://shop.example', 'http://other.example:99', 'https://u:p@shop.example', 'HTTP://h']) {
    const reply = await send(`GET ${origin}/users/${userId} HTTP/1.1`, 'Host: shop.example')
    expect(reply.body, origin).toContain(sample.user.email)
  }
  expect((await send(`GET http://h//users/${userId} HTTP/1.1`, 'Host: h')).status).toBe(404)
})

test('a malformed or repeated Host is 400 on every path, with the reason', async () => {
  const malformed = [
    '[::1',
    'a:b',
    'a:999999',
    ':8000',
    'a b',
    'a/b',
    'a@b',
    'a\\b',
    'a?b',
    'a#b',
    '[a]',
    '[',
    'http://x',
  ]
  const headers = [
    ...malformed.map(host => [`Host: ${host}`]),
    ['Host: shop.example', 'Host: other.example'],
    ['Host: shop.example', 'Host: shop.example'],
    ['Host:', 'Host: shop.example'],
    ['Host: shop.example', 'Host:'],
    ['Host: shop.example', 'host: shop.example'],
  ]
  for (const lines of headers) {
    for (const target of ['/products/?limit=1', '/products?limit=1', '/healthz', '/nowhere', `/users/${userId}`]) {
      const { status, body } = await send(`GET ${target} HTTP/1.1`, ...lines)
      expect({ lines, target, status, body: JSON.parse(body) }).toEqual({
        lines,
        target,
        status: 400,
        body: { detail: expect.any(String) },
      })
    }
  }
})

test('a valid Host is served: names, addresses, ports, and an empty one', async () => {
  const fine = [
    'shop.example',
    'SHOP.example:8000',
    'a',
    'a:',
    '[::1]',
    '[::1]:80',
    '127.0.0.1:80',
    'a_b',
    '',
    'a%20b',
    '1',
    // No URL can have these.
    '256.256.256.256',
    '%c0%ae',
    'xn--a',
  ]
  for (const host of fine) {
    for (const target of ['/products/?limit=1', `/users/${userId}`, '/healthz']) {
      for (const method of ['GET', 'HEAD']) {
        const { status } = await send(`${method} ${target} HTTP/1.1`, `Host: ${host}`)
        expect(status, `${method} ${target} of ${host}`).toBe(200)
      }
    }
  }
})

test('a HEAD without a Host is answered as its GET is', async () => {
  for (const target of [
    '/products/?limit=1',
    `/users/${userId}`,
    '/products?limit=1',
    '/nowhere',
    'http://h/healthz',
  ]) {
    const [get, head] = await Promise.all(['GET', 'HEAD'].map(method => send(`${method} ${target} HTTP/1.0`)))
    const told = (reply = get) => [reply?.status, ...['Link', 'Location', 'ETag'].map(name => reply?.headers.get(name))]
    expect(told(head), target).toEqual(told())
  }
})

test('the access log names the path as it was requested, without its query', async () => {
  await using logged = await startService(databaseUrl)
  const targets = {
    '/products/..\\users/2?secret': '/products/..\\users/2',
    '/products/../users/2': '/products/../users/2',
    '/users/..': '/users/..',
    '/users/\\2': '/users/\\2',
    '/ab/users/2': '/ab/users/2',
    '/a:bcd/users/2?secret=//x': '/a:bcd/users/2',
    '/nowhere/': '/nowhere/',
    '//users/2': '//users/2',
    '/users/%32?secret': '/users/%32',
    '/users/a%2Fb%3Fc': '/users/a%2Fb%3Fc',
    '/x%0Ay%22': '/x%0Ay%22',
    'http://h/users/2?secret': '/users/2',
  }
  for (const rest of [['HTTP/1.1', 'Host: shop.example'], ['HTTP/1.0']]) {
    for (const target of Object.keys(targets)) {
      const [version, ...headers] = rest
      await sendLines(logged.address, `GET ${target} ${version}`, ...headers)
    }
  }
  await logged.stop()
  const paths = logged
    .errors()
    .split('\n')
    .filter(line => line.includes('"path"'))
    .map(line => JSON.parse(line).path)
  expect(paths).toEqual([...Object.values(targets), ...Object.values(targets)])
  expect(logged.errors()).not.toContain('secret')
})

test('the servers of pages also take the target as it was sent', async () => {
  for (const argv of [['breeds'], ['chat', '--database', databaseUrl]]) {
    await using server = await startServer([...argv, '--host', '127.0.0.1', '--port', '0'])
    const status = async (...lines: readonly string[]) => (await sendLines(server.address, ...lines)).status
    expect(await status('GET /healthz HTTP/1.0')).toBe(200)
    expect(await status('GET / HTTP/1.0')).toBe(200)
    expect(await status('GET http://h HTTP/1.1', 'Host: h')).toBe(200)
    expect(await status('GET /static/page.css?v=x HTTP/1.1', 'Host: h')).toBe(200)
    for (const target of [
      '/x/../healthz',
      '/x\\..\\healthz',
      '/.',
      '/x/..',
      '/static/..\\healthz',
      '/%68ealthz',
      '/..',
    ]) {
      expect([400, 404], target).toContain(await status(`GET ${target} HTTP/1.1`, 'Host: h'))
    }
    for (const target of ['/ab/healthz', '/a:bcd/healthz']) expect(await status(`GET ${target} HTTP/1.0`)).toBe(404)
    expect(await status('GET /healthz HTTP/1.1', 'Host: a:b')).toBe(400)
    expect(await status('GET /healthz HTTP/1.1', 'Host: a', 'Host: a')).toBe(400)
  }
})

test('an id of the chat may hold any character, each kept as it is', async () => {
  await using server = await startServer(['chat', '--host', '127.0.0.1', '--port', '0', '--database', databaseUrl])
  const ids = ['a\\b', 'a/b', 'a#b', 'a?b', 'a b', 'a%b', 'ä', '😀', '..\\x', 'a.b', '/..', '"<>']
  for (const id of ids) {
    const body = new URLSearchParams({ user_prompt: `About ${id} only` })
    const posted = await fetch(`${server.address}/chat/${encodeURIComponent(id)}`, { method: 'POST', body })
    expect(posted.status, id).toBe(200)
  }
  for (const id of ids) {
    const page = await (await fetch(`${server.address}/chat/${encodeURIComponent(id)}`)).text()
    expect(Bun.escapeHTML(`About ${id} only`), id).toBeOneOf(
      [...page.matchAll(/About .*? only/g)].map(([text]) => text),
    )
  }
  const raw = await sendLines(server.address, 'GET /chat/a\\b HTTP/1.1', 'Host: h')
  expect(raw.status).toBe(404)
})

test('with ALLOWED_HOSTS, a page reached under another name gets nothing', async () => {
  await using server = await startServer(['breeds', '--host', '127.0.0.1', '--port', '0'], {
    environment: { ALLOWED_HOSTS: 'shop.example, Shop2.example' },
  })
  const status = async (host: string | null) => {
    const lines = host === null ? ['GET / HTTP/1.0'] : ['GET / HTTP/1.1', `Host: ${host}`]
    return (await sendLines(server.address, ...lines)).status
  }
  for (const host of [
    'shop.example',
    'SHOP.example:6543',
    'shop2.example',
    'shop.example.',
    '127.0.0.1:1',
    '[::1]',
    'localhost',
    null,
  ]) {
    expect(await status(host), String(host)).toBe(200)
  }
  for (const host of [
    'evil.example',
    'shop.example.evil.example',
    'x.shop.example',
    'evilshop.example',
    'localhost.evil.example',
  ]) {
    expect(await status(host), host).toBe(421)
  }
  // The app asks itself for its own list, over HTTP.
  const stream = await fetch(`${server.address}/dogstream`)
  let text = ''
  for await (const bytes of stream.body ?? []) {
    text += Buffer.from(bytes).toString()
    if (text.includes('event: DogBreed\n')) break
  }
  expect(text).toContain('event: DogBreed\n')
})
