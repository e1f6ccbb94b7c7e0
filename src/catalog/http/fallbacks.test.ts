import { expect, setDefaultTimeout, test } from 'bun:test'
import { METHODS } from '../../../test/harness/catalog/methods.ts'
import type { Client } from '../../../test/harness/client.ts'
import { onOneEngine } from '../../../test/harness/contract.ts'
import { sendLines } from '../../../test/harness/raw-http.ts'
import { sample } from '../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

const COLLECTIONS = ['/categories', '/products', '/reviews', '/users']

const NOT_FOUND = { detail: 'Not Found' }

onOneEngine('fallbacks', api => {
  test('a collection without its final slash is redirected by 307 to the path with it, without a body', async () => {
    for (const path of COLLECTIONS) {
      const answer = await api.get(path)
      expect(answer.status, path).toBe(307)
      expect(answer.headers.get('Location'), path).toBe(`${path}/`)
      expect(answer.body, path).toBe('')
    }
  })

  test('the redirect to the final slash keeps the query', async () => {
    for (const query of ['?skip=1&limit=2', '?colour=dark%20green&tag=a%26b&tag=%2F', '?limit=x', '?skip=%2B1&a=1+2']) {
      const answer = await api.get(`/products${query}`)
      expect(answer.status, query).toBe(307)
      expect(answer.headers.get('Location'), query).toBe(`/products/${query}`)
    }
  })

  test('the redirect to the final slash encodes what no header may have, also if the URL cannot be parsed', async () => {
    const queries = [
      ['?q=\xe2\x82\xac', '?q=%E2%82%AC'],
      ['?q=\xc3\xa9&limit=1', '?q=%C3%A9&limit=1'],
      ['?q=\xff', '?q=%EF%BF%BD'],
    ]
    const requests = [['HTTP/1.1', 'Host: h'], ['HTTP/1.1', 'Host: 256.256.256.256'], ['HTTP/1.0']]
    for (const [sent, kept] of queries) {
      for (const [version, ...fields] of requests) {
        for (const method of ['GET', 'HEAD', 'POST']) {
          const answer = await sendLines(api.address(), `${method} /products${sent} ${version}`, ...fields)
          const told = [answer.status, answer.headers.get('Location')]
          expect(told, `${method} ${kept} ${version} ${fields}`).toEqual([307, `/products/${kept}`])
        }
      }
    }
  })

  test('the redirect to the final slash is relative, whatever host the client called', async () => {
    const headers = { Host: 'shop.example', 'X-Forwarded-Host': 'inner.example', 'X-Forwarded-Proto': 'https' }
    expect((await api.get('/users', headers)).headers.get('Location')).toBe('/users/')
  })

  test('the redirect to the final slash applies to every method, and writes nothing by itself', async () => {
    const lastId = await api.create('/products/', sample.product)
    for (const method of ['POST', 'HEAD']) {
      const body = method === 'POST' ? { body: JSON.stringify(sample.product), headers: JSON_HEADERS } : {}
      const answer = await api.send('/products', { method, ...body })
      expect(answer.status, method).toBe(307)
      expect(answer.headers.get('Location'), method).toBe('/products/')
    }
    expect((await api.get(`/products/?after_id=${lastId}`)).body).toEqual([])
  })

  test('the redirect to the final slash leads a client to the list, and its POST with the body to a create', async () => {
    const id = await api.create('/products/', sample.product)
    const list = await api.send(`/products?after_id=${id - 1}`, { redirect: 'follow' })
    expect(list.body).toMatchObject([{ id }])
    const body = JSON.stringify({ ...sample.product, name: 'Fork' })
    const created = await api.send('/products', { method: 'POST', body, headers: JSON_HEADERS, redirect: 'follow' })
    expect(created.status).toBe(200)
    expect(created.body).toMatchObject({ name: 'Fork' })
  })

  test('an unknown path is 404, whatever the method', async () => {
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

  test('a path with an extra slash is 404', async () => {
    const id = await api.create('/products/', sample.product)
    const paths = [`/products/${id}/`, '/products//', '/products/1/products/', '/categories/1/']
    for (const path of [...paths, '/users/1/', '/reviews/1/', '/reviews/products/1/', '/reviews/users/1/']) {
      await isNotFound(api, path)
    }
    expect((await api.get(`/products/${id}`)).status).toBe(200)
  })

  test('a path that begins with two slashes is 404, and is never redirected to another host', async () => {
    for (const path of [
      '//products',
      '//products/',
      '//evil.example',
      '//evil.example/products',
      '//evil.example/..',
    ]) {
      const { status, headers, body } = await sendLines(api.address(), `GET ${path} HTTP/1.1`, 'Host: h')
      expect([status, JSON.parse(body), headers.get('Location')], path).toEqual([404, NOT_FOUND, null])
    }
  })

  test('an unsupported method gets 405, and Allow names every method of the path', async () => {
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

  test('a path supports each method that Allow names', async () => {
    for (const [path, methods] of METHODS) {
      for (const method of methods) {
        const answer = await api.send(path.replaceAll('1', '0'), { method })
        expect(answer.status, `${method} ${path}`).not.toBe(405)
      }
    }
  })

  test('an unsupported method gets 405 before its parameters or body are looked at', async () => {
    const answer = await api.send('/products/x', { method: 'PATCH', body: 'nonsense', headers: JSON_HEADERS })
    expect(answer.status).toBe(405)
    expect(answer.body).toEqual({ detail: 'Method Not Allowed' })
  })

  test('an unsupported method changes nothing', async () => {
    const id = await api.create('/products/', sample.product)
    await api.patch(`/products/${id}`, { ...sample.product, price: 1 })
    await api.post(`/products/${id}`, { ...sample.product, price: 1 })
    await api.delete('/products/')
    expect((await api.get(`/products/?after_id=${id - 1}`)).body).toEqual([{ id, ...sample.product, reviews: [] }])
  })

  test('HEAD answers as GET does, without the body', async () => {
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

  test('HEAD of a long list has the link of GET and no body', async () => {
    await Promise.all(Array.from({ length: 700 }, () => api.create('/categories/', sample.category)))
    const path = '/categories/?limit=650'
    const [get, head] = [await api.get(path), await api.send(path, { method: 'HEAD' })]
    expect(get.headers.get('Link')).toBe('</categories/?skip=650&limit=650>; rel="next"')
    expect(head.status).toBe(200)
    expect(head.headers.get('Link')).toBe(get.headers.get('Link'))
    expect(head.headers.get('Content-Type')).toBe('application/json')
    expect(head.body).toBe('')
  })

  test('HEAD sends nothing after the headers', async () => {
    const id = await api.create('/products/', sample.product)
    for (const path of [`/products/${id}`, '/products/', '/products/0', '/nothing', '/openapi.json']) {
      const { status, body } = await sendLines(api.address(), `HEAD ${path} HTTP/1.1`, 'Host: h')
      expect([status > 0, body], path).toEqual([true, ''])
    }
  })

  test('HEAD leaves the connection usable for the next request', async () => {
    const id = await api.create('/products/', sample.product)
    for (let round = 0; round < 5; round += 1) {
      await api.send('/products/', { method: 'HEAD' })
      expect((await api.get(`/products/${id}`)).body).toEqual({ id, ...sample.product, reviews: [] })
    }
  })
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
