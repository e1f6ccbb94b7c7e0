import { expect, setDefaultTimeout, test } from 'bun:test'
import type { Answer, Client } from '../../../test/harness/client.ts'
import { onEachEngine } from '../../../test/harness/contract.ts'
import { sample } from '../../../test/harness/samples.ts'

setDefaultTimeout(60_000)

const BODY_MAX_BYTES = 1_048_576
const SECRET = 'the-rejected-secret'
const ABSENT_ID = 9_007_199_254_740_991

interface Fault {
  readonly type: string
  readonly msg: string
}

type Loc = readonly (string | number)[]

const missing: Fault = { type: 'missing', msg: 'Field required' }
const notJson: Fault = { type: 'json_invalid', msg: 'JSON decode error' }
const notAnObject: Fault = {
  type: 'model_attributes_type',
  msg: 'Input should be a valid dictionary or object to extract fields from',
}
const notAString: Fault = { type: 'string_type', msg: 'Input should be a valid string' }
const tooShort: Fault = { type: 'string_too_short', msg: 'String should have at least 3 characters' }
const tooLong: Fault = { type: 'string_too_long', msg: 'String should have at most 50 characters' }
const unreadable: Fault = {
  type: 'string_unicode',
  msg: 'Input should be a valid string, unable to parse raw data as a unicode string',
}
const notANumber: Fault = { type: 'float_type', msg: 'Input should be a valid number' }
const notAnInteger: Fault = { type: 'int_type', msg: 'Input should be a valid integer' }
const fraction: Fault = {
  type: 'int_from_float',
  msg: 'Input should be a valid integer, got a number with a fractional part',
}
const notDigits: Fault = {
  type: 'int_parsing',
  msg: 'Input should be a valid integer, unable to parse string as an integer',
}
const tooLarge: Fault = {
  type: 'int_parsing_size',
  msg: 'Unable to parse input string as an integer, exceeded maximum size',
}
const notFinite: Fault = { type: 'finite_number', msg: 'Input should be a finite number' }
const notAboveZero: Fault = { type: 'greater_than', msg: 'Input should be greater than 0' }
const belowZero: Fault = { type: 'greater_than_equal', msg: 'Input should be greater than or equal to 0' }
const belowOne: Fault = { type: 'greater_than_equal', msg: 'Input should be greater than or equal to 1' }
const aboveFive: Fault = { type: 'less_than_equal', msg: 'Input should be less than or equal to 5' }

/** JSON spellings of everything that is no string. */
const NO_STRINGS = ['null', 'true', 'false', '0', '5', '1.5', '[]', '["Spade"]', '{}', '1e999']

/** JSON spellings of everything that is no number. */
const NO_NUMBERS = ['null', 'true', 'false', '""', '"5"', '"5.0"', '[]', '[5]', '{}']

/** Every integer of the bodies that has no bounds of its own. */
const FLAGS = ['is_active', 'is_admin', 'is_banned', 'is_blocked', 'is_deleted', 'is_suspended', 'is_verified']

/** Texts that spell no integer, as they stand in an address. */
const NO_INTEGERS = [
  ...['abc', '1.0', '1.', '.5', '1e3', '1E3', '0x1', '0b1', '0o7', '1_000', '1,000', '1n', '--1', '-%2B1', '-', '%2B'],
  ...['%201', '1%20', '1%0A', '%091', '%C2%A01', 'NaN', 'Infinity', 'true', 'null', 'None', '%00', '1%00', '%EF%BC%91'],
  ...['%D9%A1', '%E2%88%921', '%F0%9D%9F%8F', '%', '%ZZ', '%E0%A4%A', '%FF', '1;2', '1%2F2', '__proto__'],
]

onEachEngine('a body', api => {
  test('that lacks a required field gets missing, for each operation that takes one', async () => {
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

  test('that lacks one field of an update gets missing, also of a PATCH', async () => {
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

  test('that is empty gets missing for the body as a whole, whatever its content type', async () => {
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

  test('of null gets missing for the body as a whole', async () => {
    await isRefused(api, 'POST', '/products/', 'null', [at(['body'], missing)])
    await isRefused(api, 'POST', '/users/', ' null\n', [at(['body'], missing)])
  })

  test('that is JSON but no object gets model_attributes_type', async () => {
    for (const json of ['[]', '[{}]', '"text"', '""', '0', '1.5', '1e999', 'true', 'false', ' [ ] ']) {
      await isRefused(api, 'POST', '/categories/', json, [at(['body'], notAnObject)])
    }
  })

  test('that is not declared as JSON gets model_attributes_type', async () => {
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

  test('that is declared as JSON in any usual way is taken', async () => {
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

  test('that is no JSON gets json_invalid with the offset of its first wrong character', async () => {
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

  test('that is no JSON has its offset counted in characters, not in bytes or halves of a pair', async () => {
    await isRefused(api, 'POST', '/products/', '{"é": }', [at(['body', 6], notJson)])
    await isRefused(api, 'POST', '/products/', '{"😀": }', [at(['body', 6], notJson)])
  })

  test('that is not UTF-8 gets json_invalid', async () => {
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

  test('may have fields that are unknown, which are ignored', async () => {
    const body = { ...sample.category, id: 7, products: [{ id: 1 }], colour: 'green', Name: null }
    const created = await api.post('/categories/', body)
    expect(created.status).toBe(200)
    expect(created.body).toEqual({ id: expect.any(Number), ...sample.category, products: [] })
  })

  test('may have unknown fields with the names of what every object has, which are ignored as well', async () => {
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

  test('that has a field twice has the last of them', async () => {
    const taken = await sendJson(api, 'POST', '/categories/', '{"name": 5, "name": "Kitchen", "description": "Pans"}')
    expect(taken.status).toBe(200)
    expect(taken.body).toMatchObject({ name: 'Kitchen' })
    await isRefused(api, 'POST', '/categories/', '{"name": "Kitchen", "name": 5, "description": "Pans"}', [
      at(['body', 'name'], notAString),
    ])
  })

  test('may hold what is nested ever so deep in a field that is unknown, or is refused, but breaks nothing', async () => {
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

  test('is not read by an operation that takes none', async () => {
    const id = await api.create('/products/', sample.product)
    const answer = await api.send(`/products/${id}`, { method: 'DELETE', body: 'nonsense', headers: JSON_HEADERS })
    expect(answer.status).toBe(200)
    expect((await api.get(`/products/${id}`)).status).toBe(404)
  })

  test('of exactly 1 MiB is taken', async () => {
    const answer = await sendJson(api, 'POST', '/products/', productOfBytes(BODY_MAX_BYTES))
    expect(answer.status).toBe(200)
  })

  test('of one byte more than 1 MiB gets 413 with a reason, and nothing is created', async () => {
    const before = await everything(api)
    const answer = await sendJson(api, 'POST', '/products/', productOfBytes(BODY_MAX_BYTES + 1))
    expect(answer.status).toBe(413)
    expect(answer.headers.get('Content-Type')).toBe('application/json')
    expect(answer.body).toEqual({ detail: expect.any(String) })
    expect(await everything(api)).toEqual(before)
  })

  test('that is too large and does not say its length gets 413 as well', async () => {
    const before = await everything(api)
    const bytes = new TextEncoder().encode(productOfBytes(BODY_MAX_BYTES + 1))
    const answer = await api.send('/products/', { method: 'POST', body: inPieces(bytes), headers: JSON_HEADERS })
    expect(answer.status).toBe(413)
    expect(answer.body).toEqual({ detail: expect.any(String) })
    expect(await everything(api)).toEqual(before)
  })

  test('that is too large for an update gets 413, and nothing is changed', async () => {
    const { productId, userId } = await shelf(api)
    const before = await everything(api)
    const product = await sendJson(api, 'PUT', `/products/${productId}`, productOfBytes(BODY_MAX_BYTES + 1))
    const avatar = 'a'.repeat(BODY_MAX_BYTES)
    const user = await sendJson(api, 'PATCH', `/users/${userId}`, JSON.stringify({ ...sample.user, avatar }))
    expect([product.status, user.status]).toEqual([413, 413])
    expect(await everything(api)).toEqual(before)
  })

  test('of many megabytes gets 413 with a reason too', async () => {
    const before = await everything(api)
    const answer = await sendJson(api, 'POST', '/products/', productOfBytes(20 * BODY_MAX_BYTES))
    expect(answer.status).toBe(413)
    expect(answer.body).toEqual({ detail: expect.any(String) })
    expect(await everything(api)).toEqual(before)
  })
})

onEachEngine('a text', api => {
  test('that is not a string gets string_type; null is no string', async () => {
    for (const json of NO_STRINGS) {
      await isRefused(api, 'POST', '/categories/', `{"name": ${json}, "description": ${json}}`, [
        at(['body', 'name'], notAString),
        at(['body', 'description'], notAString),
      ])
    }
    await isRefused(api, 'POST', '/products/', '{"name": "Spade", "description": null, "price": 1}', [
      at(['body', 'description'], notAString),
    ])
    await isRefused(api, 'POST', '/users/', '{"name": "Ada", "email": 1, "avatar": {}, "password": []}', [
      at(['body', 'email'], notAString),
      at(['body', 'avatar'], notAString),
      at(['body', 'password'], notAString),
    ])
    const review = '{"product_id": 1, "user_id": 1, "rating": 1, "comment": 5}'
    await isRefused(api, 'POST', '/reviews/', review, [at(['body', 'comment'], notAString)])
  })

  test('of fewer than 3 characters gets string_too_short where the specification bounds it', async () => {
    await areTextsRefused(api, ['', 'a', 'ab', '  ', '😀😀'], tooShort)
  })

  test('of more than 50 characters gets string_too_long where the specification bounds it', async () => {
    await areTextsRefused(api, ['a'.repeat(51), 'a'.repeat(5_000), '😀'.repeat(51), ' '.repeat(51)], tooLong)
  })

  test('is measured in code points: 3 to 50 of them are taken and come back as they were', async () => {
    for (const text of ['abc', '   ', 'a'.repeat(50), '😀😀😀', '😀'.repeat(50), 'e\u0301e', '日本語']) {
      const { body } = await api.post('/categories/', { name: text, description: text })
      expect(body, text).toEqual({ id: expect.any(Number), name: text, description: text, products: [] })
    }
  })

  test('of letters with marks counts each mark, as code points do', async () => {
    const body = { name: 'e\u0301'.repeat(26), description: 'e\u0301'.repeat(25) }
    await isRefused(api, 'POST', '/categories/', JSON.stringify(body), [at(['body', 'name'], tooLong)])
  })

  test('has no bounds where the specification gives none', async () => {
    for (const text of ['', 'a', 'a'.repeat(100_000)]) {
      const productId = await api.create('/products/', { ...sample.product, description: text })
      const userId = await api.create('/users/', { ...sample.user, avatar: text, password: text })
      const reviewId = await api.create('/reviews/', { ...sample.review(productId, userId), comment: text })
      expect((await api.get(`/products/${productId}`)).body).toMatchObject({ description: text })
      expect((await api.get(`/users/${userId}`)).body).toMatchObject({ avatar: text })
      expect((await api.get(`/reviews/${reviewId}`)).body).toMatchObject({ comment: text })
    }
  })

  test('with U+0000 gets string_unicode in every field that is text', async () => {
    await isUnreadableEverywhere(api, 'Spa\\u0000de')
  })

  test('with half of a surrogate pair gets string_unicode in every field that is text', async () => {
    await isUnreadableEverywhere(api, 'Spa\\ud83dde')
    await isUnreadableEverywhere(api, 'Spade\\ude00')
    await isUnreadableEverywhere(api, '\\ude00\\ud83d')
  })

  test('with U+0000 gets string_unicode whatever its length', async () => {
    const body = `{"name": "\\u0000", "description": "${'\\u0000'.repeat(60)}"}`
    await isRefused(api, 'POST', '/categories/', body, [
      at(['body', 'name'], unreadable),
      at(['body', 'description'], unreadable),
    ])
  })

  test('with a surrogate pair that is escaped is the character that it spells', async () => {
    const body = '{"name": "\\ud83d\\ude00\\ud83d\\ude00\\ud83d\\ude00", "description": "abc"}'
    const answer = await sendJson(api, 'POST', '/categories/', body)
    expect(answer.body).toMatchObject({ name: '😀😀😀' })
  })

  test('comes back as it was, with every other control character, line break and quote in it', async () => {
    const text = 'a"\\/\b\f\n\r\t\u0001\u001f\u007f\u0085\u2028\u2029\ufeff\uffff<script>\'; DROP TABLE products;--'
    const id = await api.create('/products/', { ...sample.product, description: text })
    expect((await api.get(`/products/${id}`)).body).toMatchObject({ description: text })
    expect((await api.get(`/products/?after_id=${id - 1}`)).body).toMatchObject([{ description: text }])
  })
})

onEachEngine('a price', api => {
  test('that is not a number gets float_type', async () => {
    for (const json of NO_NUMBERS) await isPriceRefused(api, json, notANumber)
  })

  test('that is not finite gets finite_number', async () => {
    for (const json of ['1e999', '-1e999', '1.8e308', '9'.repeat(400)]) await isPriceRefused(api, json, notFinite)
  })

  test('of 0 or below gets greater_than', async () => {
    for (const json of ['0', '-0', '0.0', '0e5', '-1', '-0.01', '-1e308', '1e-999']) {
      await isPriceRefused(api, json, notAboveZero)
    }
  })

  test('of any finite double above 0 is taken and comes back as exactly that number', async () => {
    const prices = [5e-324, 1e-7, 0.01, 0.1 + 0.2, 1, 19.99, 34.5, 1e15 + 0.5, 2 ** 53, 2 ** 63, 1e21, 1e22, 1.8e307]
    for (const price of [...prices, Number.MAX_VALUE, Number.EPSILON, 123_456_789.123_456_78, 1 / 3]) {
      const created = await api.post('/products/', { ...sample.product, price })
      expect(created.body, String(price)).toMatchObject({ price })
      const id = await api.create('/products/', { ...sample.product, price })
      expect((await api.get(`/products/${id}`)).body, String(price)).toMatchObject({ price })
      expect((await api.get(`/products/?after_id=${id - 1}`)).body, String(price)).toMatchObject([{ price }])
    }
  })
})

onEachEngine('an integer of a body', api => {
  test('that is not a number gets int_type; "5" and true are no integers', async () => {
    for (const json of NO_NUMBERS) await areIntegersRefused(api, json, notAnInteger)
  })

  test('with a fraction gets int_from_float', async () => {
    for (const json of ['4.5', '1e-1', '-0.5', '4.000000001']) await areIntegersRefused(api, json, fraction)
  })

  test('that is not finite gets finite_number', async () => {
    for (const json of ['1e999', '-1e999', '9'.repeat(400)]) await areIntegersRefused(api, json, notFinite)
  })

  test('outside of what is exact gets int_parsing_size', async () => {
    for (const json of ['9007199254740992', '-9007199254740992', '9007199254740993', '1e300', '9'.repeat(30)]) {
      await areIntegersRefused(api, json, tooLarge)
    }
  })

  test('that is written as 5.0 or 5e0 is the integer 5', async () => {
    const { productId, userId } = await shelf(api)
    for (const five of ['5', '5.0', '5e0', '0.5e1', '50e-1', '5.000']) {
      const json = `{"product_id": ${productId}.0, "user_id": ${userId}e0, "rating": ${five}, "comment": ""}`
      const answer = await sendJson(api, 'POST', '/reviews/', json)
      expect(answer.body, five).toMatchObject({ product_id: productId, user_id: userId, rating: 5 })
    }
  })

  test('below 1 gets greater_than_equal as a rating', async () => {
    for (const json of ['0', '-1', '-0', '-9007199254740991']) await isRatingRefused(api, json, belowOne)
  })

  test('above 5 gets less_than_equal as a rating', async () => {
    for (const json of ['6', '100', '9007199254740991']) await isRatingRefused(api, json, aboveFive)
  })

  test('from 1 to 5 is taken as a rating', async () => {
    const { productId, userId } = await shelf(api)
    for (const rating of [1, 2, 3, 4, 5]) {
      const answer = await api.post('/reviews/', { ...sample.review(productId, userId), rating })
      expect(answer.body, `rating ${rating}`).toMatchObject({ rating })
    }
  })

  test('has no bounds as a flag, and the largest and smallest exact ones come back', async () => {
    for (const value of [-1, 0, 2, 9_007_199_254_740_991, -9_007_199_254_740_991]) {
      const flags = Object.fromEntries(FLAGS.map(flag => [flag, value]))
      const id = await api.create('/users/', { ...sample.user, ...flags })
      expect((await api.get(`/users/${id}`)).body, String(value)).toMatchObject(flags)
    }
  })

  test('may not be null as a flag, though a flag may be left out', async () => {
    const body = JSON.stringify({ ...sample.user, is_admin: null })
    await isRefused(api, 'POST', '/users/', body, [at(['body', 'is_admin'], notAnInteger)])
  })
})

onEachEngine('an id in a path', api => {
  test('that spells no integer gets int_parsing, for each operation on one', async () => {
    const rows: [method: string, path: string, parameters: string[]][] = [
      ['GET', '/categories/x', ['category_id']],
      ['PUT', '/categories/x', ['category_id']],
      ['DELETE', '/categories/x', ['category_id']],
      ['GET', '/products/x', ['product_id']],
      ['PUT', '/products/x', ['product_id']],
      ['DELETE', '/products/x', ['product_id']],
      ['GET', '/products/x/products', ['category_id']],
      ['POST', '/products/x/products', ['category_id']],
      ['GET', '/reviews/x', ['review_id']],
      ['PATCH', '/reviews/x', ['review_id']],
      ['DELETE', '/reviews/x', ['review_id']],
      ['GET', '/reviews/products/x', ['product_id']],
      ['GET', '/reviews/users/x', ['user_id']],
      ['GET', '/reviews/products/x/users/y', ['product_id', 'user_id']],
      ['GET', '/users/x', ['user_id']],
      ['PATCH', '/users/x', ['user_id']],
      ['DELETE', '/users/x', ['user_id']],
    ]
    const body = JSON.stringify({ ...sample.user, ...sample.product, ...sample.review(1, 1) })
    for (const [method, path, parameters] of rows) {
      const request = method === 'GET' ? { method } : { method, body, headers: JSON_HEADERS }
      const detail = parameters.map(parameter => at(['path', parameter], notDigits))
      expectRefusal(await api.send(path, request), detail, `${method} ${path}`)
    }
  })

  test('is an optional sign and ASCII digits, nothing else', async () => {
    for (const text of NO_INTEGERS) {
      expectRefusal(await api.get(`/products/${text}`), [at(['path', 'product_id'], notDigits)], text)
    }
  })

  test('may have a sign and zeros before it', async () => {
    const id = await api.create('/products/', sample.product)
    const escaped = String(id).replaceAll(/[0-9]/g, digit => `%3${digit}`)
    for (const text of [`+${id}`, `%2B${id}`, `0${id}`, `+000000000000000000000000${id}`, escaped]) {
      expect((await api.get(`/products/${text}`)).body, text).toMatchObject({ id })
    }
  })

  test('that is 0, negative or too large for any database is not found', async () => {
    const texts = ['0', '-0', '-1', '9007199254740993', '9223372036854775807', '9223372036854775808', '9'.repeat(1_000)]
    for (const text of [...texts, `-${'9'.repeat(1_000)}`]) {
      const answer = await api.get(`/products/${text}`)
      expect(answer.status, text).toBe(404)
      expect(answer.body, text).toEqual({ detail: 'Product not found' })
    }
  })
})

onEachEngine('skip and limit', api => {
  test('that spell no integer get int_parsing', async () => {
    for (const text of [...NO_INTEGERS, '', '+1', '1+']) {
      expectRefusal(
        await api.get(`/products/?limit=${text}&skip=${text}`),
        [at(['query', 'skip'], notDigits), at(['query', 'limit'], notDigits)],
        text,
      )
    }
  })

  test('below 0 get greater_than_equal, however far below', async () => {
    for (const text of ['-1', '-007', '-9007199254740993', `-${'9'.repeat(400)}`]) {
      expectRefusal(
        await api.get(`/users/?skip=${text}&limit=${text}`),
        [at(['query', 'skip'], belowZero), at(['query', 'limit'], belowZero)],
        text,
      )
    }
  })

  test('are refused alike by every list that takes them', async () => {
    const { productId, userId } = await shelf(api)
    const paths = ['/categories/', '/products/', '/reviews/', '/users/']
    const nested = [`/reviews/products/${productId}`, `/reviews/users/${userId}`]
    for (const path of [...paths, ...nested, `/reviews/products/${productId}/users/${userId}`]) {
      const detail = [at(['query', 'skip'], belowZero), at(['query', 'limit'], notDigits)]
      expectRefusal(await api.get(`${path}?skip=-1&limit=many`), detail, path)
    }
  })

  test('may have a sign and zeros before them', async () => {
    await shelf(api)
    const plain = await api.get('/products/?skip=0&limit=1')
    expect(plain.body).toBeArrayOfSize(1)
    for (const query of ['skip=-0&limit=%2B1', 'skip=%2B0&limit=0001', 'skip=000&limit=%2B01']) {
      expect((await api.get(`/products/?${query}`)).body, query).toEqual(plain.body)
    }
  })

  test('that are given twice have the last of their values', async () => {
    await shelf(api)
    const { productId } = await shelf(api)
    expect((await api.get('/products/?limit=x&limit=1')).body).toBeArrayOfSize(1)
    expect((await api.get(`/products/?limit=0&after_id=${productId - 1}&limit=5`)).body).toMatchObject([
      { id: productId },
    ])
    expectRefusal(await api.get('/products/?limit=1&limit=x'), [at(['query', 'limit'], notDigits)])
  })

  test('stand beside parameters that are unknown, which are ignored', async () => {
    await shelf(api)
    for (const query of ['LIMIT=x', 'limit%5B%5D=x', '__proto__=x', 'constructor=1', 'toString', '=x', '&&']) {
      const answer = await api.get(`/products/?${query}&limit=1`)
      expect(answer.status, query).toBe(200)
      expect(answer.body, query).toBeArrayOfSize(1)
    }
  })

  test('mean nothing to an operation that does not take them', async () => {
    const { categoryId, productId } = await shelf(api)
    for (const path of [`/products/${productId}`, `/products/${categoryId}/products`]) {
      expect((await api.get(`${path}?skip=x&limit=-1`)).status, path).toBe(200)
    }
  })
})

onEachEngine('a 422', api => {
  test('names all errors of a body at once, in the order of the fields', async () => {
    const body = '{"comment": 1, "rating": 9, "user_id": "1"}'
    await isRefused(api, 'POST', '/reviews/', body, [
      at(['body', 'product_id'], missing),
      at(['body', 'user_id'], notAnInteger),
      at(['body', 'rating'], aboveFive),
      at(['body', 'comment'], notAString),
    ])
  })

  test('names all errors of a whole user, its flags too', async () => {
    const flags = FLAGS.map((flag, index) => `"${flag}": ${index % 2 === 0 ? '"1"' : '0.5'}`)
    const body = `{${flags.join()}, "password": null, "avatar": [], "email": "a", "name": "${'a'.repeat(51)}"}`
    await isRefused(api, 'POST', '/users/', body, [
      at(['body', 'name'], tooLong),
      at(['body', 'email'], tooShort),
      at(['body', 'avatar'], notAString),
      at(['body', 'password'], notAString),
      ...FLAGS.map((flag, index) => at(['body', flag], index % 2 === 0 ? notAnInteger : fraction)),
    ])
  })

  test('names errors of the path before those of the body', async () => {
    await isRefused(api, 'PUT', '/products/x', '{"name": "ab", "price": 0}', [
      at(['path', 'product_id'], notDigits),
      at(['body', 'name'], tooShort),
      at(['body', 'description'], missing),
      at(['body', 'price'], notAboveZero),
    ])
  })

  test('names errors of the path before those of the query', async () => {
    const answer = await api.get('/reviews/products/x/users/1.0?limit=1e3&skip=-5')
    expectRefusal(answer, [
      at(['path', 'product_id'], notDigits),
      at(['path', 'user_id'], notDigits),
      at(['query', 'skip'], belowZero),
      at(['query', 'limit'], notDigits),
    ])
  })

  test('has a body that cannot be read as one error beside those of the path', async () => {
    const path = at(['path', 'product_id'], notDigits)
    await isRefused(api, 'PUT', '/products/x', '{"name": }', [path, at(['body', 9], notJson)])
    await isRefused(api, 'PUT', '/products/x', '', [path, at(['body'], missing)])
    await isRefused(api, 'PUT', '/products/x', '[]', [path, at(['body'], notAnObject)])
  })

  test('comes before a 404: an invalid body for an id that does not exist', async () => {
    await isRefused(api, 'PUT', `/products/${ABSENT_ID}`, '{"name": "Spade", "description": "", "price": 0}', [
      at(['body', 'price'], notAboveZero),
    ])
  })

  test('is JSON of exactly the shape of HTTPValidationError', async () => {
    const answer = await api.post('/products/', { name: 'ab' })
    expect(answer.headers.get('Content-Type')).toBe('application/json')
    expect(answer.body).toStrictEqual({
      detail: [
        { loc: ['body', 'name'], ...tooShort },
        { loc: ['body', 'description'], ...missing },
        { loc: ['body', 'price'], ...missing },
      ],
    })
  })

  test('never repeats what was sent', async () => {
    const rejected: [method: string, path: string, body: string][] = [
      ['POST', '/users/', JSON.stringify({ ...sample.user, name: 'ab', password: SECRET })],
      ['POST', '/users/', JSON.stringify({ ...sample.user, password: [SECRET] })],
      ['POST', '/users/', JSON.stringify({ ...sample.user, password: { [SECRET]: SECRET } })],
      ['POST', '/users/', `{"password": "${SECRET}\\u0000"}`],
      ['POST', '/users/', `{"password": "${SECRET}", nonsense`],
      ['POST', '/users/', `"${SECRET}"`],
      ['POST', '/users/', JSON.stringify({ [SECRET]: SECRET })],
      ['POST', '/users/', JSON.stringify({ ...sample.user, email: SECRET.repeat(5), is_admin: SECRET })],
      ['PATCH', `/users/${SECRET}`, JSON.stringify({ password: SECRET })],
      ['POST', '/products/', JSON.stringify({ ...sample.product, price: SECRET })],
      ['POST', `/products/${SECRET}/products`, '{}'],
    ]
    for (const [method, path, body] of rejected) {
      const answer = await sendJson(api, method, path, body)
      expect(answer.status, `${method} ${path} ${body}`).toBe(422)
      expect(JSON.stringify(answer.body), `${method} ${path} ${body}`).not.toContain(SECRET)
      expect(JSON.stringify([...answer.headers]), `${method} ${path} ${body}`).not.toContain(SECRET)
    }
    const query = await api.get(`/users/?skip=${SECRET}&${SECRET}=1`)
    expect(query.status).toBe(422)
    expect(JSON.stringify(query.body)).not.toContain(SECRET)
  })
})

const JSON_HEADERS = { 'Content-Type': 'application/json' }

function at(loc: Loc, fault: Fault) {
  return { loc, ...fault }
}

function expectRefusal(answer: Answer, detail: readonly object[], row = ''): void {
  expect(answer.body, row).toEqual({ detail })
  expect(answer.status, row).toBe(422)
}

/** Sends a body that must be refused with exactly these errors; sees that it changed nothing. */
async function isRefused(api: Client, method: string, path: string, json: string, detail: object[]): Promise<void> {
  const before = await everything(api)
  expectRefusal(await sendJson(api, method, path, json), detail, `${method} ${path} ${json.slice(0, 200)}`)
  expect(await everything(api), `after ${method} ${path} ${json.slice(0, 200)}`).toEqual(before)
}

/** Of each text that is bounded to 3 to 50 characters, on create and on update. */
async function areTextsRefused(api: Client, texts: readonly string[], fault: Fault): Promise<void> {
  const { categoryId, productId, userId } = await shelf(api)
  for (const text of texts) {
    const rows: [method: string, path: string, body: object, fields: string[]][] = [
      ['POST', '/categories/', { name: text, description: text }, ['name', 'description']],
      ['PUT', `/categories/${categoryId}`, { name: text, description: text }, ['name', 'description']],
      ['POST', '/products/', { ...sample.product, name: text }, ['name']],
      ['POST', `/products/${categoryId}/products`, { ...sample.product, name: text }, ['name']],
      ['PUT', `/products/${productId}`, { ...sample.product, name: text }, ['name']],
      ['POST', '/users/', { ...sample.user, name: text, email: text }, ['name', 'email']],
      ['PATCH', `/users/${userId}`, { ...sample.user, name: text, email: text }, ['name', 'email']],
    ]
    for (const [method, path, body, fields] of rows) {
      const detail = fields.map(field => at(['body', field], fault))
      await isRefused(api, method, path, JSON.stringify(body), detail)
    }
  }
}

/** Of each text of every body; `text` is what stands between the quotes. */
async function isUnreadableEverywhere(api: Client, text: string): Promise<void> {
  const rows: [path: string, rest: string, fields: string[]][] = [
    ['/categories/', '"": 0', ['name', 'description']],
    ['/products/', '"price": 1', ['name', 'description']],
    ['/reviews/', '"product_id": 1, "user_id": 1, "rating": 1', ['comment']],
    ['/users/', '"is_admin": 1', ['name', 'email', 'avatar', 'password']],
  ]
  for (const [path, rest, fields] of rows) {
    const json = `{${fields.map(field => `"${field}": "${text}"`).join()}, ${rest}}`
    const detail = fields.map(field => at(['body', field], unreadable))
    await isRefused(api, 'POST', path, json, detail)
  }
}

async function isPriceRefused(api: Client, price: string, fault: Fault): Promise<void> {
  const { productId } = await shelf(api)
  const json = `{"name": "Spade", "description": "", "price": ${price}}`
  await isRefused(api, 'POST', '/products/', json, [at(['body', 'price'], fault)])
  await isRefused(api, 'PUT', `/products/${productId}`, json, [at(['body', 'price'], fault)])
}

/** Of each integer of every body. */
async function areIntegersRefused(api: Client, value: string, fault: Fault): Promise<void> {
  const { userId, reviewId } = await shelf(api)
  const numbers = ['product_id', 'user_id', 'rating']
  const review = `{${numbers.map(field => `"${field}": ${value}`).join()}, "comment": ""}`
  const user = `{${JSON.stringify(sample.user).slice(1, -1)}, ${FLAGS.map(flag => `"${flag}": ${value}`).join()}}`
  const ofReview = numbers.map(field => at(['body', field], fault))
  const ofUser = FLAGS.map(field => at(['body', field], fault))
  await isRefused(api, 'POST', '/reviews/', review, ofReview)
  await isRefused(api, 'PATCH', `/reviews/${reviewId}`, review, ofReview)
  await isRefused(api, 'POST', '/users/', user, ofUser)
  await isRefused(api, 'PATCH', `/users/${userId}`, user, ofUser)
}

async function isRatingRefused(api: Client, rating: string, fault: Fault): Promise<void> {
  const { productId, userId, reviewId } = await shelf(api)
  const json = `{"product_id": ${productId}, "user_id": ${userId}, "rating": ${rating}, "comment": ""}`
  await isRefused(api, 'POST', '/reviews/', json, [at(['body', 'rating'], fault)])
  await isRefused(api, 'PATCH', `/reviews/${reviewId}`, json, [at(['body', 'rating'], fault)])
}

/** One of each resource. */
async function shelf(api: Client) {
  const categoryId = await api.create('/categories/', sample.category)
  const productId = await api.create(`/products/${categoryId}/products`, sample.product)
  const userId = await api.create('/users/', sample.user)
  const reviewId = await api.create('/reviews/', sample.review(productId, userId))
  return { categoryId, productId, userId, reviewId }
}

/** All that the service holds. */
async function everything(api: Client): Promise<unknown[]> {
  const paths = ['/categories/', '/products/', '/reviews/', '/users/']
  const answers = await Promise.all(paths.map(path => api.get(`${path}?limit=1000000`)))
  return answers.map(({ body }) => body)
}

function sendJson(api: Client, method: string, path: string, json: string): Promise<Answer> {
  return api.send(path, { method, body: json, headers: JSON_HEADERS })
}

/** The JSON of a valid product, of exactly so many bytes. */
function productOfBytes(bytes: number): string {
  const rest = JSON.stringify({ ...sample.product, description: '' }).length
  return JSON.stringify({ ...sample.product, description: 'a'.repeat(bytes - rest) })
}

/** A body that is sent in chunks, without a Content-Length. */
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
