import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { gzipSync } from 'bun'
import { type Client, client } from '../../test/harness/client.ts'
import { QUICK_HASHES } from '../../test/harness/contract.ts'
import { sendLines } from '../../test/harness/raw-http.ts'
import { sample } from '../../test/harness/samples.ts'
import { run, type Service, startServer, startService } from '../../test/harness/service.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'

setDefaultTimeout(120_000)

const folder = temporaryFolder()
const file = join(folder.path, 'shop.db')
let shop: Service
let api: Client
let chat: Service

beforeAll(async () => {
  shop = await startService(`sqlite:${file}`)
  api = client(() => shop.address)
  chat = await startServer(['chat', '--host', '127.0.0.1', '--port', '0', '--database', `sqlite:${file}`])
})

afterAll(async () => {
  await shop.stop()
  await chat.stop()
  folder[Symbol.dispose]()
})

const JSON_TYPE = { 'Content-Type': 'application/json' }

test('every answer tells browsers not to guess its type', async () => {
  await using broken = await startService(`sqlite:${join(folder.path, 'broken.db')}`)
  {
    using database = new Database(join(folder.path, 'broken.db'))
    database.run('ALTER TABLE reviews RENAME TO reviews_taken_away')
  }
  const id = await api.create('/products/', sample.product)
  const etag = (await api.get('/docs/start.js')).headers.get('ETag') ?? ''
  const answers: readonly (readonly [status: number, response: Promise<Response>])[] = [
    [200, fetch(`${shop.address}/products/${id}`)],
    [200, fetch(`${shop.address}/products/${id}`, { method: 'HEAD' })],
    [200, fetch(`${shop.address}/docs`)],
    [200, fetch(`${shop.address}/openapi.json`)],
    [200, fetch(`${shop.address}/healthz`)],
    [304, fetch(`${shop.address}/docs/start.js`, { headers: { 'If-None-Match': etag } })],
    [307, fetch(`${shop.address}/products`, { redirect: 'manual' })],
    [404, fetch(`${shop.address}/nowhere`)],
    [404, fetch(`${shop.address}/products/0`)],
    [405, fetch(`${shop.address}/products/`, { method: 'DELETE' })],
    [413, fetch(`${shop.address}/products/`, { method: 'POST', body: 'x'.repeat(1_100_000), headers: JSON_TYPE })],
    [422, fetch(`${shop.address}/products/x`)],
    [500, fetch(`${broken.address}/reviews/`)],
    [200, fetch(`${chat.address}/`)],
    [200, fetch(`${chat.address}/static/page.css`)],
    [404, fetch(`${chat.address}/chatstream/unknown`)],
    [404, fetch(`${chat.address}/chat/unknown`)],
    [422, fetch(`${chat.address}/chat/x`, { method: 'POST', body: new URLSearchParams({ user_prompt: '' }) })],
  ]
  for (const [status, response] of answers) {
    const { status: answered, headers, url } = await response
    expect({ url, status: answered, nosniff: headers.get('X-Content-Type-Options') }).toEqual({
      url,
      status,
      nosniff: 'nosniff',
    })
  }
  const refused = await sendLines(shop.address, 'GET / HTTP/1.1', 'Host: a:b')
  expect(refused.headers.get('X-Content-Type-Options')).toBe('nosniff')
})

test('the docs page sends its address to no other origin, and is in the frame of none', async () => {
  const { headers } = await api.get('/docs')
  expect(headers.get('Referrer-Policy')).toBe('same-origin')
  expect(headers.get('Content-Security-Policy')).toContain("frame-ancestors 'none'")
})

test('answers about users may not be cached, good or bad', async () => {
  const id = await api.create('/users/', sample.user)
  const productId = await api.create('/products/', sample.product)
  await api.create('/reviews/', sample.review(productId, id))
  const answers = {
    list: await api.get('/users/'),
    user: await api.get(`/users/${id}`),
    head: await api.send(`/users/${id}`, { method: 'HEAD' }),
    created: await api.post('/users/', sample.user),
    changed: await api.patch(`/users/${id}`, sample.user),
    refused: await api.post('/users/', { name: 5 }),
    tooLarge: await api.post('/users/', { name: 'x'.repeat(1_100_000) }),
    unread: await api.get('/users/x'),
    absent: await api.get('/users/0'),
    method: await api.put(`/users/${id}`, {}),
    deleted: await api.delete(`/users/${id}`),
  }
  for (const [name, { headers }] of Object.entries(answers)) expect(headers.get('Cache-Control'), name).toBe('no-store')
  for (const path of ['/products/', `/products/${productId}`]) {
    expect((await api.get(path)).headers.get('Cache-Control'), path).toBe('no-cache')
  }
})

test('a long list of users may not be cached', async () => {
  const databaseUrl = `sqlite:${join(folder.path, 'many.db')}`
  const sizes = ['--users', '250', '--reviews', '0', '--products', '0', '--categories', '0']
  await run(['seed', ...sizes, '--database', databaseUrl], { environment: QUICK_HASHES })
  await using service = await startService(databaseUrl)
  const list = await client(() => service.address).get('/users/?limit=250')
  expect(list.headers.get('Content-Length')).toBeNull()
  expect(list.headers.get('Cache-Control')).toBe('no-store')
  expect(list.body).toBeArrayOfSize(250)
})

test('an encoded body is 415, and the answer says that no coding is accepted', async () => {
  const body = gzipSync(JSON.stringify(sample.product))
  for (const coding of ['gzip', 'br', 'deflate', 'zstd', 'identity, gzip', 'x-unknown', 'GZIP']) {
    const answer = await api.send('/products/', {
      method: 'POST',
      body,
      headers: { ...JSON_TYPE, 'Content-Encoding': coding },
    })
    expect(answer.status, coding).toBe(415)
    expect(answer.headers.get('Accept-Encoding'), coding).toBe('identity')
    expect(answer.body, coding).toEqual({ detail: expect.any(String) })
  }
  // Its content does not matter.
  const plain = {
    method: 'PUT',
    body: JSON.stringify(sample.product),
    headers: { ...JSON_TYPE, 'Content-Encoding': 'gzip' },
  }
  expect((await api.send('/products/1', plain)).status).toBe(415)
  const form = {
    method: 'POST',
    body: 'user_prompt=Hello',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  }
  const encodedForm = { ...form, headers: { ...form.headers, 'Content-Encoding': 'gzip' } }
  expect((await fetch(`${chat.address}/chat/encoded`, encodedForm)).status).toBe(415)
  expect((await fetch(`${chat.address}/chat/encoded`)).status).toBe(404)
})

test('a body that is not encoded is accepted, even if its headers say so explicitly', async () => {
  for (const coding of ['identity', 'Identity', 'identity, identity', '']) {
    const headers = { ...JSON_TYPE, 'Content-Encoding': coding }
    const answer = await api.send('/products/', { method: 'POST', body: JSON.stringify(sample.product), headers })
    expect(answer.status, coding).toBe(200)
  }
})
