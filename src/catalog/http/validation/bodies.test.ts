import { expect, setDefaultTimeout, test } from 'bun:test'
import { everything, shelf } from '../../../../test/harness/catalog/resources.ts'
import {
  at,
  expectRefusal,
  isRefused,
  missing,
  notAnObject,
  notAString,
  notJson,
  sendJson,
} from '../../../../test/harness/catalog/validation-errors.ts'
import { onOneEngine } from '../../../../test/harness/contract.ts'
import { sample } from '../../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

const BODY_MAX_BYTES = 1_048_576

onOneEngine('request bodies', api => {
  test('a body without a required field gets missing, for each operation that takes a body', async () => {
    const { categoryId, productId, userId, reviewId } = await shelf(api)
    const category = ['name', 'description']
    const product = ['name', 'description', 'price']
    const review = ['product_id', 'user_id', 'rating', 'comment']
    const user = ['name', 'email', 'avatar', 'password']
    const rows: [method: string, path: string, fields: string[]][] = [
      ['POST', '/categories/', category],
      ['PUT', `/categories/${categoryId}`, category],
      ['POST', '/products/', product],
      ['POST', `/products/${categoryId}/products`, product],
      ['PUT', `/products/${productId}`, product],
      ['POST', '/reviews/', review],
      ['PATCH', `/reviews/${reviewId}`, review],
      ['POST', '/users/', user],
      ['PATCH', `/users/${userId}`, user],
    ]
    for (const [method, path, fields] of rows) {
      const detail = fields.map(field => at(['body', field], missing))
      await isRefused(api, method, path, '{}', detail)
    }
  })

  test('an update body without one of its fields gets missing, also in a PATCH', async () => {
    const { userId, productId, reviewId } = await shelf(api)
    const { email: _, ...userWithoutEmail } = sample.user
    const { comment: __, ...reviewWithoutComment } = sample.review(productId, userId)
    const { price: ___, ...productWithoutPrice } = sample.product
    const rows: [method: string, path: string, body: object, field: string][] = [
      ['PATCH', `/users/${userId}`, userWithoutEmail, 'email'],
      ['PATCH', `/reviews/${reviewId}`, reviewWithoutComment, 'comment'],
      ['PUT', `/products/${productId}`, productWithoutPrice, 'price'],
    ]
    for (const [method, path, body, field] of rows) {
      await isRefused(api, method, path, JSON.stringify(body), [at(['body', field], missing)])
    }
  })

  test('an empty body gets missing for the body as a whole, whatever its content type', async () => {
    const { productId } = await shelf(api)
    const before = await everything(api)
    for (const headers of [{}, JSON_HEADERS, { 'Content-Type': 'text/plain' }]) {
      for (const [method, path] of [
        ['POST', '/products/'],
        ['PUT', `/products/${productId}`],
      ] as const) {
        const answer = await api.send(path, { method, headers })
        expectRefusal(answer, [at(['body'], missing)], `${method} ${path} ${JSON.stringify(headers)}`)
      }
    }
    expect(await everything(api)).toEqual(before)
  })

  test('a body of null gets missing for the body as a whole', async () => {
    await isRefused(api, 'POST', '/products/', 'null', [at(['body'], missing)])
    await isRefused(api, 'POST', '/users/', ' null\n', [at(['body'], missing)])
  })

  test('a JSON body that is no object gets model_attributes_type', async () => {
    for (const json of ['[]', '[{}]', '"text"', '""', '0', '1.5', '1e999', 'true', 'false', ' [ ] ']) {
      await isRefused(api, 'POST', '/categories/', json, [at(['body'], notAnObject)])
    }
  })

  test('a body that is not declared as JSON gets model_attributes_type', async () => {
    const before = await everything(api)
    const bytes = new TextEncoder().encode(JSON.stringify(sample.product))
    const types = [
      ...['text/plain', 'text/json', 'application/x-www-form-urlencoded', 'application/octet-stream'],
      ...['application/jsonp', 'application/json-seq', 'application/xjson', 'json', 'text/plain; a=application/json'],
    ]
    for (const type of types) {
      const answer = await api.send('/products/', { method: 'POST', body: bytes, headers: { 'Content-Type': type } })
      expectRefusal(answer, [at(['body'], notAnObject)], type)
    }
    expectRefusal(await api.send('/products/', { method: 'POST', body: bytes }), [at(['body'], notAnObject)], 'no type')
    expect(await everything(api)).toEqual(before)
  })

  test('a body may be declared as JSON in any usual way', async () => {
    const types = [
      ...['application/json', 'application/json; charset=utf-8', 'application/json;charset=UTF-8', 'Application/JSON'],
      ...['application/problem+json', 'application/merge-patch+json; charset=utf-8'],
    ]
    for (const type of types) {
      const body = JSON.stringify(sample.product)
      const answer = await api.send('/products/', { method: 'POST', body, headers: { 'Content-Type': type } })
      expect(answer.status, type).toBe(200)
    }
  })

  test('a body that is not JSON gets json_invalid with the offset of its first wrong character', async () => {
    const rows: [body: string, offset: number][] = [
      ['nonsense', 0],
      ['  ', 2],
      ['{', 1],
      ['{"name"', 7],
      ['{"name":', 8],
      ['{"name": }', 9],
      ['{"name": "Spade"', 16],
      ['{"name" "Spade"}', 8],
      ['{"name": "Spade" "price": 1}', 17],
      ["{'name': 1}", 1],
      ['{name: 1}', 1],
      ['{} {}', 3],
      ['{"name": "Spade', 9],
      ['{"price": 1.5.5}', 13],
      ['{"price": NaN}', 10],
      ['{"price": Infinity}', 10],
      ['{"price": 0x10}', 11],
      ['{"price": undefined}', 10],
      ['{"name": True}', 9],
      ['// a comment\n{}', 0],
      ['name=Spade&price=1', 0],
    ]
    for (const [body, offset] of rows) {
      await isRefused(api, 'POST', '/products/', body, [at(['body', offset], notJson)])
    }
  })

  test('json_invalid points at a wrong escape or a control character where Python does', async () => {
    const rows: [body: string, offset: number][] = [
      [String.raw`{"name": "a\q"}`, 11],
      [String.raw`{"name": "a\u12"}`, 12],
      [String.raw`{"name": "a\u12`, 12],
      [String.raw`{"name": "a\u1234`, 12],
      [String.raw`{"name": "\ud83d\u1_23"}`, 17],
      [String.raw`{"\u": 1}`, 3],
      ['{"name": "a\\', 9],
      ['{"name": "a\u001f"}', 11],
    ]
    for (const [body, offset] of rows) {
      await isRefused(api, 'POST', '/products/', body, [at(['body', offset], notJson)])
    }
  })

  test('the offset in json_invalid counts characters, not bytes or halves of a surrogate pair', async () => {
    await isRefused(api, 'POST', '/products/', '{"é": }', [at(['body', 6], notJson)])
    await isRefused(api, 'POST', '/products/', '{"😀": }', [at(['body', 6], notJson)])
  })

  test('a body that is not UTF-8 gets json_invalid', async () => {
    const before = await everything(api)
    const body = Buffer.concat([
      Buffer.from('{"name": "Sp'),
      Buffer.from([0xe9]),
      Buffer.from('de", "description": "", "price": 1}'),
    ])
    const answer = await api.send('/products/', { method: 'POST', body, headers: JSON_HEADERS })
    expect(answer.status).toBe(422)
    expect(answer.body).toEqual({ detail: [{ loc: ['body', expect.any(Number)], ...notJson }] })
    expect(await everything(api)).toEqual(before)
  })

  test('unknown fields of a body are ignored', async () => {
    const body = { ...sample.category, id: 7, products: [{ id: 1 }], colour: 'green', Name: null }
    const created = await api.post('/categories/', body)
    expect(created.status).toBe(200)
    expect(created.body).toEqual({ id: expect.any(Number), ...sample.category, products: [] })
  })

  test('unknown fields of a body named like the members of every object are ignored', async () => {
    const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf']
    for (const name of names) {
      const inside = JSON.stringify(sample.category)
      const body = `{"name": "Kitchen", "${name}": ${inside}, "description": "All for the kitchen"}`
      const created = await sendJson(api, 'POST', '/categories/', body)
      const kitchen = { name: 'Kitchen', description: 'All for the kitchen' }
      expect(created.body, name).toStrictEqual({ id: expect.any(Number), ...kitchen, products: [] })
      await isRefused(api, 'POST', '/categories/', `{"${name}": ${inside}}`, [
        at(['body', 'name'], missing),
        at(['body', 'description'], missing),
      ])
    }
  })

  test('if a body has a field twice, the last one counts', async () => {
    const taken = await sendJson(api, 'POST', '/categories/', '{"name": 5, "name": "Kitchen", "description": "Pans"}')
    expect(taken.status).toBe(200)
    expect(taken.body).toMatchObject({ name: 'Kitchen' })
    await isRefused(api, 'POST', '/categories/', '{"name": "Kitchen", "name": 5, "description": "Pans"}', [
      at(['body', 'name'], notAString),
    ])
  })

  test('a deeply nested unknown field of a body is ignored or refused, and breaks nothing', async () => {
    const DEPTH = 400_000
    const deep = '['.repeat(DEPTH) + ']'.repeat(DEPTH)
    const taken = await sendJson(api, 'POST', '/categories/', `{"name": "Pans", "description": "Pans", "x": ${deep}}`)
    expect([200, 422]).toContain(taken.status)
    await isRefused(api, 'POST', '/categories/', deep, [at(['body'], notAnObject)])
    await isRefused(api, 'POST', '/categories/', `{"name": ${deep}, "description": "Pans"}`, [
      at(['body', 'name'], notAString),
    ])
    await isRefused(api, 'POST', '/categories/', '['.repeat(DEPTH), [at(['body', DEPTH], notJson)])
  })

  test('a body sent to an operation that takes none is not read', async () => {
    const id = await api.create('/products/', sample.product)
    const answer = await api.send(`/products/${id}`, { method: 'DELETE', body: 'nonsense', headers: JSON_HEADERS })
    expect(answer.status).toBe(200)
    expect((await api.get(`/products/${id}`)).status).toBe(404)
  })

  test('a body of exactly 1 MiB is accepted', async () => {
    const answer = await sendJson(api, 'POST', '/products/', productOfBytes(BODY_MAX_BYTES))
    expect(answer.status).toBe(200)
  })

  test('a body of one byte more than 1 MiB gets 413 with a reason, and nothing is created', async () => {
    const before = await everything(api)
    const answer = await sendJson(api, 'POST', '/products/', productOfBytes(BODY_MAX_BYTES + 1))
    expect(answer.status).toBe(413)
    expect(answer.headers.get('Content-Type')).toBe('application/json')
    expect(answer.body).toEqual({ detail: expect.any(String) })
    expect(await everything(api)).toEqual(before)
  })

  test('a body that is too large gets 413, even if it does not declare its length', async () => {
    const before = await everything(api)
    const bytes = new TextEncoder().encode(productOfBytes(BODY_MAX_BYTES + 1))
    const answer = await api.send('/products/', { method: 'POST', body: inPieces(bytes), headers: JSON_HEADERS })
    expect(answer.status).toBe(413)
    expect(answer.body).toEqual({ detail: expect.any(String) })
    expect(await everything(api)).toEqual(before)
  })

  test('an update body that is too large gets 413, and nothing is changed', async () => {
    const { productId, userId } = await shelf(api)
    const before = await everything(api)
    const product = await sendJson(api, 'PUT', `/products/${productId}`, productOfBytes(BODY_MAX_BYTES + 1))
    const avatar = 'a'.repeat(BODY_MAX_BYTES)
    const user = await sendJson(api, 'PATCH', `/users/${userId}`, JSON.stringify({ ...sample.user, avatar }))
    expect([product.status, user.status]).toEqual([413, 413])
    expect(await everything(api)).toEqual(before)
  })

  test('a body of many megabytes gets 413 with a reason', async () => {
    const before = await everything(api)
    const answer = await sendJson(api, 'POST', '/products/', productOfBytes(20 * BODY_MAX_BYTES))
    expect(answer.status).toBe(413)
    expect(answer.body).toEqual({ detail: expect.any(String) })
    expect(await everything(api)).toEqual(before)
  })
})

const JSON_HEADERS = { 'Content-Type': 'application/json' }

/** The JSON of a valid product, exactly `bytes` long. */
function productOfBytes(bytes: number): string {
  const rest = JSON.stringify({ ...sample.product, description: '' }).length
  return JSON.stringify({ ...sample.product, description: 'a'.repeat(bytes - rest) })
}

/** A body sent in chunks, without a Content-Length. */
function inPieces(bytes: Uint8Array): ReadableStream<Uint8Array> {
  const PIECE_BYTES = 65_536
  let sent = 0
  return new ReadableStream({
    pull(controller) {
      if (sent >= bytes.length) return controller.close()
      controller.enqueue(bytes.slice(sent, sent + PIECE_BYTES))
      sent += PIECE_BYTES
    },
  })
}
