import { expect, setDefaultTimeout, test } from 'bun:test'
import { connect } from 'node:net'
import { type Client, client } from '../../test/harness/client.ts'
import { onEachEngine } from '../../test/harness/contract.ts'
import { ENGINES } from '../../test/harness/engines.ts'
import { sample } from '../../test/harness/samples.ts'
import { startService } from '../../test/harness/service.ts'

setDefaultTimeout(60_000)

const COLLECTIONS = ['/categories', '/products', '/reviews', '/users']

const NOT_FOUND = { detail: 'Not Found' }

/** All methods of each path of the specification. */
const METHODS: readonly (readonly [path: string, methods: readonly string[]])[] = [
  ['/categories/', ['GET', 'HEAD', 'POST']],
  ['/categories/1', ['DELETE', 'GET', 'HEAD', 'PUT']],
  ['/products/', ['GET', 'HEAD', 'POST']],
  ['/products/1', ['DELETE', 'GET', 'HEAD', 'PUT']],
  ['/products/1/products', ['GET', 'HEAD', 'POST']],
  ['/reviews/', ['GET', 'HEAD', 'POST']],
  ['/reviews/1', ['DELETE', 'GET', 'HEAD', 'PATCH']],
  ['/reviews/products/1', ['GET', 'HEAD']],
  ['/reviews/users/1', ['GET', 'HEAD']],
  ['/reviews/products/1/users/1', ['GET', 'HEAD']],
  ['/users/', ['GET', 'HEAD', 'POST']],
  ['/users/1', ['DELETE', 'GET', 'HEAD', 'PATCH']],
]

onEachEngine('a collection without its final slash', api => {
  test('is redirected by 307 to the path with it, without a body', async () => {
    for (const path of COLLECTIONS) {
      const answer = await api.get(path)
      expect(answer.status, path).toBe(307)
      expect(answer.headers.get('Location'), path).toBe(`${path}/`)
      expect(answer.body, path).toBe('')
    }
  })

  test('is redirected with its query', async () => {
    for (const query of ['?skip=1&limit=2', '?colour=dark%20green&tag=a%26b&tag=%2F', '?limit=x', '?skip=%2B1&a=1+2']) {
      const answer = await api.get(`/products${query}`)
      expect(answer.status, query).toBe(307)
      expect(answer.headers.get('Location'), query).toBe(`/products/${query}`)
    }
  })

  test('is redirected relatively, whatever host the client called', async () => {
    const headers = { Host: 'shop.example', 'X-Forwarded-Host': 'inner.example', 'X-Forwarded-Proto': 'https' }
    expect((await api.get('/users', headers)).headers.get('Location')).toBe('/users/')
  })

  test('is redirected for other methods as well, and writes nothing by itself', async () => {
    const lastId = await api.create('/products/', sample.product)
    for (const method of ['POST', 'HEAD']) {
      const body = method === 'POST' ? { body: JSON.stringify(sample.product), headers: JSON_HEADERS } : {}
      const answer = await api.send('/products', { method, ...body })
      expect(answer.status, method).toBe(307)
      expect(answer.headers.get('Location'), method).toBe('/products/')
    }
    expect((await api.get(`/products/?after_id=${lastId}`)).body).toEqual([])
  })

  test('leads a client that follows it to the list, and its POST with the body to a create', async () => {
    const id = await api.create('/products/', sample.product)
    const list = await api.send(`/products?after_id=${id - 1}`, { redirect: 'follow' })
    expect(list.body).toMatchObject([{ id }])
    const body = JSON.stringify({ ...sample.product, name: 'Fork' })
    const created = await api.send('/products', { method: 'POST', body, headers: JSON_HEADERS, redirect: 'follow' })
    expect(created.status).toBe(200)
    expect(created.body).toMatchObject({ name: 'Fork' })
  })
})

onEachEngine('a path', api => {
  test('that does not exist is 404, whatever the method', async () => {
    const paths = ['/', '/nothing', '/Products/', '/product/', '/products.json', '/categories/1/products', '/orders/']
    for (const path of [
      ...paths,
      '/products/1/reviews',
      '/users/1/reviews',
      '/reviews/users/1/products/1',
      '/v1/users/',
    ]) {
      await isNotFound(api, path)
    }
  })

  test('with a slash too many is 404', async () => {
    const id = await api.create('/products/', sample.product)
    const paths = [`/products/${id}/`, '/products//', '/products/1/products/', '/categories/1/']
    for (const path of [...paths, '/users/1/', '/reviews/1/', '/reviews/products/1/', '/reviews/users/1/']) {
      await isNotFound(api, path)
    }
    expect((await api.get(`/products/${id}`)).status).toBe(200)
  })

  test('that begins with two slashes is 404, and never redirected to another host', async () => {
    for (const path of [
      '//products',
      '//products/',
      '//evil.example',
      '//evil.example/products',
      '//evil.example/..',
    ]) {
      const answer = await sendVerbatim(api, 'GET', path)
      expect(answer, path).toStartWith('HTTP/1.1 404 ')
      expect(answer, path).toEndWith(JSON.stringify(NOT_FOUND))
      expect(answer.toLowerCase(), path).not.toContain('location:')
    }
  })

  test('without the method gets 405, and Allow names every method that it has', async () => {
    for (const [path, methods] of METHODS) {
      const others = ['PUT', 'PATCH', 'DELETE', 'POST', 'OPTIONS'].filter(method => !methods.includes(method))
      for (const method of others) {
        const answer = await api.send(path, { method })
        expect(answer.status, `${method} ${path}`).toBe(405)
        expect(answer.headers.get('Content-Type'), `${method} ${path}`).toBe('application/json')
        expect(answer.body, `${method} ${path}`).toEqual({ detail: 'Method Not Allowed' })
        const allowed = (answer.headers.get('Allow') ?? '').split(',').map(name => name.trim())
        expect(allowed.sort(), `${method} ${path}`).toEqual([...methods])
      }
    }
  })

  test('has each method that Allow names', async () => {
    for (const [path, methods] of METHODS) {
      for (const method of methods) {
        const answer = await api.send(path.replaceAll('1', '0'), { method })
        expect(answer.status, `${method} ${path}`).not.toBe(405)
      }
    }
  })

  test('without the method gets 405 before its parameters or the body are looked at', async () => {
    const answer = await api.send('/products/x', { method: 'PATCH', body: 'nonsense', headers: JSON_HEADERS })
    expect(answer.status).toBe(405)
    expect(answer.body).toEqual({ detail: 'Method Not Allowed' })
  })

  test('without the method changes nothing', async () => {
    const id = await api.create('/products/', sample.product)
    await api.patch(`/products/${id}`, { ...sample.product, price: 1 })
    await api.post(`/products/${id}`, { ...sample.product, price: 1 })
    await api.delete('/products/')
    expect((await api.get(`/products/?after_id=${id - 1}`)).body).toEqual([{ id, ...sample.product, reviews: [] }])
  })
})

onEachEngine('HEAD', api => {
  test('answers as GET does, without the body', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const productId = await api.create(`/products/${categoryId}/products`, sample.product)
    const userId = await api.create('/users/', sample.user)
    const reviewId = await api.create('/reviews/', sample.review(productId, userId))
    await api.create('/products/', sample.product)
    const paths = [
      ...['/categories/', '/products/', '/products/?limit=1', '/reviews/', '/users/', '/products/?skip=x'],
      ...[`/categories/${categoryId}`, `/products/${categoryId}/products`, `/products/${productId}`],
      ...[`/reviews/${reviewId}`, `/reviews/products/${productId}`, `/reviews/users/${userId}`, `/users/${userId}`],
      ...[`/reviews/products/${productId}/users/${userId}`, '/products/0', '/products/x', '/nothing', '/products'],
      ...['/healthz', '/health', '/readyz', '/openapi.json', '/docs'],
    ]
    for (const path of paths) {
      const [get, head] = [await api.get(path), await api.send(path, { method: 'HEAD' })]
      expect(head.status, path).toBe(get.status)
      expect(head.body, path).toBe('')
      for (const name of ['Content-Type', 'Content-Length', 'Link', 'Location']) {
        expect(head.headers.get(name), `${name} of ${path}`).toBe(get.headers.get(name))
      }
    }
  })

  test('of a long list has the link of GET and no body', async () => {
    await Promise.all(Array.from({ length: 700 }, () => api.create('/categories/', sample.category)))
    const path = '/categories/?limit=650'
    const [get, head] = [await api.get(path), await api.send(path, { method: 'HEAD' })]
    expect(get.headers.get('Link')).toBe('</categories/?skip=650&limit=650>; rel="next"')
    expect(head.status).toBe(200)
    expect(head.headers.get('Link')).toBe(get.headers.get('Link'))
    expect(head.headers.get('Content-Type')).toBe('application/json')
    expect(head.body).toBe('')
  })

  test('sends nothing after the headers', async () => {
    const id = await api.create('/products/', sample.product)
    for (const path of [`/products/${id}`, '/products/', '/products/0', '/nothing', '/openapi.json']) {
      const answer = await sendVerbatim(api, 'HEAD', path)
      expect(answer, path).toStartWith('HTTP/1.1 ')
      expect(answer.indexOf('\r\n\r\n'), path).toBe(answer.length - '\r\n\r\n'.length)
    }
  })

  test('leaves the connection usable for what comes after', async () => {
    const id = await api.create('/products/', sample.product)
    for (let round = 0; round < 5; round += 1) {
      await api.send('/products/', { method: 'HEAD' })
      expect((await api.get(`/products/${id}`)).body).toEqual({ id, ...sample.product, reviews: [] })
    }
  })
})

onEachEngine('without CORS_ORIGINS', api => {
  test('no answer lets a page of another origin read it', async () => {
    for (const path of ['/products/', '/products', '/products/0', '/nothing', '/healthz']) {
      const { headers } = await api.get(path, { Origin: 'https://shop.example' })
      expect(corsHeaders(headers), path).toEqual([])
    }
  })

  test('a preflight gets 405, as any method that a path does not have', async () => {
    const preflight = await api.send('/products/', { method: 'OPTIONS', headers: preflightHeaders('POST') })
    expect(preflight.status).toBe(405)
    expect(corsHeaders(preflight.headers)).toEqual([])
  })
})

test('with CORS_ORIGINS, a page of such an origin may read every answer, errors too', async () => {
  await using shop = await startShop('https://shop.example,http://localhost:3000')
  for (const origin of ['https://shop.example', 'http://localhost:3000']) {
    for (const path of ['/products/', '/products', '/products/0', '/products/x', '/nothing', '/healthz']) {
      const { headers } = await shop.api.get(path, { Origin: origin })
      expect(headers.get('Access-Control-Allow-Origin'), `${origin} ${path}`).toBe(origin)
    }
    const large = JSON.stringify({ ...sample.product, description: 'a'.repeat(1_100_000) })
    const refused = await shop.api.send('/products/', {
      method: 'POST',
      body: large,
      headers: { ...JSON_HEADERS, Origin: origin },
    })
    expect(refused.status).toBe(413)
    expect(refused.headers.get('Access-Control-Allow-Origin')).toBe(origin)
    const notAllowed = await shop.api.send('/products/', { method: 'PATCH', headers: { Origin: origin } })
    expect(notAllowed.status).toBe(405)
    expect(notAllowed.headers.get('Access-Control-Allow-Origin')).toBe(origin)
  }
})

test('with CORS_ORIGINS, a page may read the headers that lists and errors have', async () => {
  await using shop = await startShop('https://shop.example')
  const { headers } = await shop.api.get('/products/', { Origin: 'https://shop.example' })
  const exposed = (headers.get('Access-Control-Expose-Headers') ?? '').toLowerCase().split(/\s*,\s*/)
  expect(exposed).toEqual(expect.arrayContaining(['link', 'x-request-id', 'retry-after']))
})

test('with CORS_ORIGINS, a page of another origin may not read an answer', async () => {
  await using shop = await startShop('https://shop.example')
  const others = ['https://evil.example', 'http://shop.example', 'https://shop.example:8443', 'null']
  for (const origin of [...others, 'https://shop.example.evil.example']) {
    const { headers } = await shop.api.get('/products/', { Origin: origin })
    expect(headers.get('Access-Control-Allow-Origin'), origin).toBeNull()
    const preflight = await shop.api.send('/products/', {
      method: 'OPTIONS',
      headers: { ...preflightHeaders('POST'), Origin: origin },
    })
    expect(preflight.headers.get('Access-Control-Allow-Origin'), origin).toBeNull()
  }
})

test('with CORS_ORIGINS, a cache is told that answers differ by origin', async () => {
  await using shop = await startShop('https://shop.example,https://other.example')
  for (const origin of ['https://shop.example', 'https://evil.example']) {
    const { headers } = await shop.api.get('/products/', { Origin: origin })
    expect(headers.get('Vary')?.toLowerCase(), origin).toContain('origin')
  }
})

test('with CORS_ORIGINS, a preflight allows every method of the service, and the JSON content type', async () => {
  await using shop = await startShop('https://shop.example')
  for (const [path, methods] of METHODS) {
    for (const method of methods) {
      const preflight = await shop.api.send(path, { method: 'OPTIONS', headers: preflightHeaders(method) })
      expect(preflight.status, `${method} ${path}`).toBe(204)
      expect(preflight.headers.get('Access-Control-Allow-Origin'), `${method} ${path}`).toBe('https://shop.example')
      expect(preflight.headers.get('Access-Control-Allow-Methods'), `${method} ${path}`).toContain(method)
      expect(preflight.headers.get('Access-Control-Allow-Headers')?.toLowerCase(), path).toContain('content-type')
    }
  }
})

test('with CORS_ORIGINS, no page is let in with the credentials of its user', async () => {
  await using shop = await startShop('https://shop.example')
  for (const answer of [
    await shop.api.get('/products/', { Origin: 'https://shop.example' }),
    await shop.api.send('/products/', { method: 'OPTIONS', headers: preflightHeaders('POST') }),
  ]) {
    expect(answer.headers.get('Access-Control-Allow-Credentials')).toBeNull()
  }
})

test('with CORS_ORIGINS=*, pages of every origin may read an answer', async () => {
  await using shop = await startShop('*')
  for (const origin of ['https://shop.example', 'https://other.example']) {
    const { headers } = await shop.api.get('/products/', { Origin: origin })
    expect(headers.get('Access-Control-Allow-Origin'), origin).toBe('*')
  }
  const preflight = await shop.api.send('/products/1', { method: 'OPTIONS', headers: preflightHeaders('DELETE') })
  expect(preflight.status).toBe(204)
  expect(preflight.headers.get('Access-Control-Allow-Methods')).toContain('DELETE')
})

const JSON_HEADERS = { 'Content-Type': 'application/json' }

async function isNotFound(api: Client, path: string): Promise<void> {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
    const answer = await api.send(path, { method })
    expect(answer.status, `${method} ${path}`).toBe(404)
    expect(answer.headers.get('Content-Type'), `${method} ${path}`).toBe('application/json')
    expect(answer.body, `${method} ${path}`).toEqual(NOT_FOUND)
  }
}

/** Asks for a path exactly as it is written, which `fetch` would tidy up first; answers head and body as they came. */
async function sendVerbatim(api: Client, method: string, path: string): Promise<string> {
  const { hostname, port } = new URL(api.address())
  const socket = connect(Number(port), hostname)
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n`)
  let answer = ''
  for await (const bytes of socket) answer += String(bytes)
  return answer
}

/** What a browser asks before a page may send a request that is not simple. */
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

/** A service that lets pages of these origins in; the database makes no difference. */
async function startShop(origins: string) {
  const open = new AsyncDisposableStack()
  const [engine] = ENGINES
  if (!engine) throw new Error('there is no engine')
  const database = open.use(await engine.freshDatabase())
  const service = open.use(await startService(database.url, { environment: { CORS_ORIGINS: origins } }))
  return { api: client(() => service.address), [Symbol.asyncDispose]: () => open.disposeAsync() }
}
