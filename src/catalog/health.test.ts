import { expect, setDefaultTimeout, test } from 'bun:test'
import { createMany } from '../../test/harness/catalog/created.ts'
import { onOneEngine } from '../../test/harness/contract.ts'
import { sample } from '../../test/harness/samples.ts'

setDefaultTimeout(120_000)

/** The longest request id that a client may choose. */
const REQUEST_ID_MAX_CHARACTERS = 128

onOneEngine('health', api => {
  test('/healthz says that the process answers', async () => {
    const answer = await api.get('/healthz')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('Content-Type')).toBe('application/json')
    expect(answer.body).toEqual({ status: 'ok' })
  })

  test('/health answers as /healthz does', async () => {
    const answer = await api.get('/health')
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual((await api.get('/healthz')).body)
  })

  test('/readyz says that the database answers too', async () => {
    const answer = await api.get('/readyz')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('Content-Type')).toBe('application/json')
    expect(answer.body).toEqual({ status: 'ready' })
  })

  test('health checks are only for reading: another method gets 405', async () => {
    for (const path of ['/healthz', '/health', '/readyz']) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        const answer = await api.send(path, { method })
        expect(answer.status, `${method} ${path}`).toBe(405)
        expect(answer.headers.get('Allow'), `${method} ${path}`).toBe('GET, HEAD')
      }
    }
  })

  test('health checks ignore a query, such as probes add against caches', async () => {
    for (const path of ['/healthz?now=1', '/health?now=1', '/readyz?limit=x']) {
      expect((await api.get(path)).status, path).toBe(200)
    }
  })

  test('a request id from the client is kept if it is made of the usual characters', async () => {
    for (const id of ['a', '7', 'req-0123456789', 'A.b_c:d=e+f/g@h-i', crypto.randomUUID(), 'Root=1-67891233-abcdef']) {
      const answer = await api.get('/healthz', { 'X-Request-Id': id })
      expect(answer.headers.get('X-Request-Id'), id).toBe(id)
    }
  })

  test('a request id from the client is kept up to 128 characters', async () => {
    const id = 'a'.repeat(REQUEST_ID_MAX_CHARACTERS)
    expect((await api.get('/healthz', { 'X-Request-Id': id })).headers.get('X-Request-Id')).toBe(id)
  })

  test('a request id that is too long or has other characters is replaced by a new one', async () => {
    const long = 'a'.repeat(REQUEST_ID_MAX_CHARACTERS + 1)
    for (const id of [
      long,
      '',
      'two words',
      '"quoted"',
      '<script>',
      'a,b',
      'a;b',
      '{"a":1}',
      '%0A',
      'é',
      'a\tb',
      '$(x)',
    ]) {
      const answer = await api.get('/healthz', { 'X-Request-Id': id })
      expect(answer.status, id).toBe(200)
      expect(answer.headers.get('X-Request-Id'), id).toMatch(/^[A-Za-z0-9-]{8,128}$/)
      expect(answer.headers.get('X-Request-Id'), id).not.toBe(id)
    }
  })

  test('each request without an id gets a new one', async () => {
    const ids = new Set<string | null>()
    for (let round = 0; round < 20; round += 1) ids.add((await api.get('/healthz')).headers.get('X-Request-Id'))
    expect(ids.size).toBe(20)
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9-]{8,128}$/)
  })

  test('every kind of answer has a request id', async () => {
    const id = await api.create('/products/', sample.product)
    const rows: [method: string, path: string, status: number, body?: string][] = [
      ['GET', '/products/', 200],
      ['HEAD', '/products/', 200],
      ['GET', `/products/${id}`, 200],
      ['GET', '/readyz', 200],
      ['GET', '/openapi.json', 200],
      ['GET', '/docs', 200],
      ['GET', '/products', 307],
      ['GET', '/products/0', 404],
      ['GET', '/nothing', 404],
      ['PATCH', '/products/', 405],
      ['POST', '/products/', 413, 'a'.repeat(1_100_000)],
      ['POST', '/products/', 422, '{}'],
    ]
    for (const [method, path, status, body] of rows) {
      const headers = { 'X-Request-Id': 'mine-1', 'Content-Type': 'application/json' }
      const answer = await api.send(path, { method, headers, ...(body !== undefined && { body }) })
      expect(answer.status, `${method} ${path}`).toBe(status)
      expect(answer.headers.get('X-Request-Id'), `${method} ${path}`).toBe('mine-1')
    }
  })

  test('the answer of a streamed list has a request id too', async () => {
    await createMany(api, '/categories/', Array(500).fill(sample.category))
    const answer = await api.get('/categories/?limit=1000', { 'X-Request-Id': 'mine-2' })
    expect(answer.body).toBeArrayOfSize(500)
    expect(answer.headers.get('X-Request-Id')).toBe('mine-2')
  })
})
