import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import { METHODS } from '../../../test/harness/catalog/methods.ts'
import { client } from '../../../test/harness/client.ts'
import { onOneEngine } from '../../../test/harness/contract.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { sample } from '../../../test/harness/samples.ts'
import { type ServedShop, startShopOn } from '../../../test/harness/shop.ts'

setDefaultTimeout(120_000)

onOneEngine('without CORS_ORIGINS', api => {
  test('without CORS_ORIGINS, no answer may be read by a page of another origin', async () => {
    for (const path of ['/products/', '/products', '/products/0', '/nothing', '/healthz']) {
      const { headers } = await api.get(path, { Origin: 'https://shop.example' })
      expect(corsHeaders(headers), path).toEqual([])
    }
  })

  test('without CORS_ORIGINS, a preflight gets 405 like any unsupported method', async () => {
    const preflight = await api.send('/products/', { method: 'OPTIONS', headers: preflightHeaders('POST') })
    expect(preflight.status).toBe(405)
    expect(corsHeaders(preflight.headers)).toEqual([])
  })
})

describe('a service that pages of two origins may call', () => {
  let shop: ServedShop
  const api = client(() => shop.service.address)
  beforeAll(async () => {
    shop = await startShop('https://shop.example,http://localhost:3000')
  })
  afterAll(() => shop[Symbol.asyncDispose]())

  test('with CORS_ORIGINS, a page of a listed origin may read every answer, errors too', async () => {
    for (const origin of ['https://shop.example', 'http://localhost:3000']) {
      for (const path of ['/products/', '/products', '/products/0', '/products/x', '/nothing', '/healthz']) {
        const { headers } = await api.get(path, { Origin: origin })
        expect(headers.get('Access-Control-Allow-Origin'), `${origin} ${path}`).toBe(origin)
      }
      const large = JSON.stringify({ ...sample.product, description: 'a'.repeat(1_100_000) })
      const refused = await api.send('/products/', {
        method: 'POST',
        body: large,
        headers: { ...JSON_HEADERS, Origin: origin },
      })
      expect(refused.status).toBe(413)
      expect(refused.headers.get('Access-Control-Allow-Origin')).toBe(origin)
      const notAllowed = await api.send('/products/', { method: 'PATCH', headers: { Origin: origin } })
      expect(notAllowed.status).toBe(405)
      expect(notAllowed.headers.get('Access-Control-Allow-Origin')).toBe(origin)
    }
  })

  test('with CORS_ORIGINS, a page may read the headers that lists and errors have', async () => {
    const { headers } = await api.get('/products/', { Origin: 'https://shop.example' })
    const exposed = (headers.get('Access-Control-Expose-Headers') ?? '').toLowerCase().split(/\s*,\s*/)
    expect(exposed).toEqual(expect.arrayContaining(['link', 'x-request-id', 'retry-after']))
  })

  test('with CORS_ORIGINS, each Vary is one that the strict description has', async () => {
    const { body } = await api.get('/openapi.strict.json')
    const described = Described.parse(body).components.headers.Vary.schema.enum
    for (const [path, expected] of [
      ['/products/', 'Accept, Origin'],
      ['/products/0', 'Origin'],
    ] as const) {
      const vary = (await api.get(path, { Origin: 'https://shop.example' })).headers.get('Vary')
      expect(vary, path).toBe(expected)
      expect(described, path).toContain(expected)
    }
  })

  test('with CORS_ORIGINS, a page of another origin may not read an answer', async () => {
    const others = ['https://evil.example', 'http://shop.example', 'https://shop.example:8443', 'null']
    for (const origin of [...others, 'https://shop.example.evil.example']) {
      const { headers } = await api.get('/products/', { Origin: origin })
      expect(headers.get('Access-Control-Allow-Origin'), origin).toBeNull()
      const preflight = await api.send('/products/', {
        method: 'OPTIONS',
        headers: { ...preflightHeaders('POST'), Origin: origin },
      })
      expect(preflight.headers.get('Access-Control-Allow-Origin'), origin).toBeNull()
    }
  })

  test('with CORS_ORIGINS, answers tell caches that they differ by origin', async () => {
    for (const origin of ['https://shop.example', 'https://evil.example']) {
      const { headers } = await api.get('/products/', { Origin: origin })
      expect(headers.get('Vary')?.toLowerCase(), origin).toContain('origin')
    }
  })

  test('with CORS_ORIGINS, a preflight allows every method of the service and the JSON content type', async () => {
    for (const [path, methods] of METHODS) {
      for (const method of methods) {
        const preflight = await api.send(path, { method: 'OPTIONS', headers: preflightHeaders(method) })
        expect(preflight.status, `${method} ${path}`).toBe(204)
        expect(preflight.headers.get('Access-Control-Allow-Origin'), `${method} ${path}`).toBe('https://shop.example')
        expect(preflight.headers.get('Access-Control-Allow-Methods'), `${method} ${path}`).toContain(method)
        expect(preflight.headers.get('Access-Control-Allow-Headers')?.toLowerCase(), path).toContain('content-type')
      }
    }
  })

  test('with CORS_ORIGINS, a page may send an Idempotency-Key, and read whether an answer was given before', async () => {
    const preflight = await api.send('/products/', {
      method: 'OPTIONS',
      headers: { ...preflightHeaders('POST'), 'Access-Control-Request-Headers': 'content-type,idempotency-key' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('Access-Control-Allow-Headers')?.toLowerCase()).toContain('idempotency-key')
    for (const replayed of [null, 'true']) {
      const { status, headers } = await api.send('/products/', {
        method: 'POST',
        body: JSON.stringify(sample.product),
        headers: { ...JSON_HEADERS, Origin: 'https://shop.example', 'Idempotency-Key': '"a page"' },
      })
      expect({ status, replayed: headers.get('Idempotency-Replayed') }).toEqual({ status: 200, replayed })
      expect(headers.get('Access-Control-Expose-Headers')?.toLowerCase()).toContain('idempotency-replayed')
    }
  })

  test('with CORS_ORIGINS, no page may send the credentials of its user', async () => {
    for (const answer of [
      await api.get('/products/', { Origin: 'https://shop.example' }),
      await api.send('/products/', { method: 'OPTIONS', headers: preflightHeaders('POST') }),
    ]) {
      expect(answer.headers.get('Access-Control-Allow-Credentials')).toBeNull()
    }
  })
})

test('with CORS_ORIGINS=*, a page of any origin may read an answer', async () => {
  await using shop = await startShop('*')
  const { api } = shop
  for (const origin of ['https://shop.example', 'https://other.example']) {
    const { headers } = await api.get('/products/', { Origin: origin })
    expect(headers.get('Access-Control-Allow-Origin'), origin).toBe('*')
  }
  const preflight = await api.send('/products/1', { method: 'OPTIONS', headers: preflightHeaders('DELETE') })
  expect(preflight.status).toBe(204)
  expect(preflight.headers.get('Access-Control-Allow-Methods')).toContain('DELETE')
})

const Described = z.object({
  components: z.object({
    headers: z.object({ Vary: z.object({ schema: z.object({ enum: z.array(z.string()) }) }) }),
  }),
})

const JSON_HEADERS = { 'Content-Type': 'application/json' }

/** The preflight that a browser sends before a request that is not simple. */
function preflightHeaders(method: string): Record<string, string> {
  return {
    Origin: 'https://shop.example',
    'Access-Control-Request-Method': method,
    'Access-Control-Request-Headers': 'content-type',
  }
}

function corsHeaders(headers: Headers): string[] {
  return [...headers.keys()].filter(name => name.startsWith('access-control-'))
}

/** A service that pages of these origins may call; the engine makes no difference. */
function startShop(origins: string): Promise<ServedShop> {
  return startShopOn(sqlite, { environment: { CORS_ORIGINS: origins } })
}
