import { beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { shelf } from '../../../../test/harness/catalog/resources.ts'
import {
  aboveFive,
  at,
  belowOne,
  type Fault,
  fraction,
  isRefused,
  notAboveZero,
  notANumber,
  notAnInteger,
  notAString,
  notFinite,
  sendJson,
  tooLarge,
  tooLong,
  tooShort,
  unreadable,
} from '../../../../test/harness/catalog/validation-errors.ts'
import type { Client } from '../../../../test/harness/client.ts'
import { onOneEngine } from '../../../../test/harness/contract.ts'
import { sample } from '../../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

/** JSON values that are not strings. */
const NO_STRINGS = ['null', 'true', 'false', '0', '5', '1.5', '[]', '["Spade"]', '{}', '1e999']

/** JSON values that are not numbers. */
const NO_NUMBERS = ['null', 'true', 'false', '""', '"5"', '"5.0"', '[]', '[5]', '{}']

/** Every integer field without bounds. */
const FLAGS = ['is_active', 'is_admin', 'is_banned', 'is_blocked', 'is_deleted', 'is_suspended', 'is_verified']

type Shelf = Awaited<ReturnType<typeof shelf>>

onOneEngine('fields', api => {
  let shown: Shelf
  beforeAll(async () => {
    shown = await shelf(api)
  })

  test('a text field that is not a string, or is null, gets string_type', async () => {
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

  test('a text of fewer than 3 characters gets string_too_short if the specification bounds it', async () => {
    await areTextsRefused(api, shown, ['', 'a', 'ab', '  ', '😀😀'], tooShort)
  })

  test('a text of more than 50 characters gets string_too_long if the specification bounds it', async () => {
    await areTextsRefused(api, shown, ['a'.repeat(51), 'a'.repeat(5_000), '😀'.repeat(51), ' '.repeat(51)], tooLong)
  })

  test('a text is measured in code points: 3 to 50 of them are accepted and returned unchanged', async () => {
    for (const text of ['abc', '   ', 'a'.repeat(50), '😀😀😀', '😀'.repeat(50), 'e\u0301e', '日本語']) {
      const { body } = await api.post('/categories/', { name: text, description: text })
      expect(body, text).toEqual({ id: expect.any(Number), name: text, description: text, products: [] })
    }
  })

  test('the length of a text with combining marks counts each mark, as code points do', async () => {
    const body = { name: 'e\u0301'.repeat(26), description: 'e\u0301'.repeat(25) }
    await isRefused(api, 'POST', '/categories/', JSON.stringify(body), [at(['body', 'name'], tooLong)])
  })

  test('a text has no length limits if the specification gives none', async () => {
    for (const text of ['', 'a', 'a'.repeat(100_000)]) {
      const productId = await api.create('/products/', { ...sample.product, description: text })
      const userId = await api.create('/users/', { ...sample.user, avatar: text, password: text })
      const reviewId = await api.create('/reviews/', { ...sample.review(productId, userId), comment: text })
      expect((await api.get(`/products/${productId}`)).body).toMatchObject({ description: text })
      expect((await api.get(`/users/${userId}`)).body).toMatchObject({ avatar: text })
      expect((await api.get(`/reviews/${reviewId}`)).body).toMatchObject({ comment: text })
      await api.delete(`/products/${productId}`)
      await api.delete(`/users/${userId}`)
    }
  })

  test('a text with U+0000 gets string_unicode, in every text field', async () => {
    await isUnreadableEverywhere(api, 'Spa\\u0000de')
  })

  test('a text with half of a surrogate pair gets string_unicode, in every text field', async () => {
    await isUnreadableEverywhere(api, 'Spa\\ud83dde')
    await isUnreadableEverywhere(api, 'Spade\\ude00')
    await isUnreadableEverywhere(api, '\\ude00\\ud83d')
  })

  test('a text with U+0000 gets string_unicode, whatever its length', async () => {
    const body = `{"name": "\\u0000", "description": "${'\\u0000'.repeat(60)}"}`
    await isRefused(api, 'POST', '/categories/', body, [
      at(['body', 'name'], unreadable),
      at(['body', 'description'], unreadable),
    ])
  })

  test('an escaped surrogate pair in a text is the character that it spells', async () => {
    const body = '{"name": "\\ud83d\\ude00\\ud83d\\ude00\\ud83d\\ude00", "description": "abc"}'
    const answer = await sendJson(api, 'POST', '/categories/', body)
    expect(answer.body).toMatchObject({ name: '😀😀😀' })
  })

  test('a text with any other control characters, line breaks and quotes is returned unchanged', async () => {
    const text = 'a"\\/\b\f\n\r\t\u0001\u001f\u007f\u0085\u2028\u2029\ufeff\uffff<script>\'; DROP TABLE products;--'
    const id = await api.create('/products/', { ...sample.product, description: text })
    expect((await api.get(`/products/${id}`)).body).toMatchObject({ description: text })
    expect((await api.get(`/products/?after_id=${id - 1}`)).body).toMatchObject([{ description: text }])
  })

  test('a price that is not a number gets float_type', async () => {
    for (const json of NO_NUMBERS) await isPriceRefused(api, shown, json, notANumber)
  })

  test('a price that is not finite gets finite_number', async () => {
    for (const json of ['1e999', '-1e999', '1.8e308', '9'.repeat(400)])
      await isPriceRefused(api, shown, json, notFinite)
  })

  test('a price of 0 or below gets greater_than', async () => {
    for (const json of ['0', '-0', '0.0', '0e5', '-1', '-0.01', '-1e308', '1e-999']) {
      await isPriceRefused(api, shown, json, notAboveZero)
    }
  })

  test('a price may be any finite double above 0 and is returned as exactly that number', async () => {
    const prices = [5e-324, 1e-7, 0.01, 0.1 + 0.2, 1, 19.99, 34.5, 1e15 + 0.5, 2 ** 53, 2 ** 63, 1e21, 1e22, 1.8e307]
    for (const price of [...prices, Number.MAX_VALUE, Number.EPSILON, 123_456_789.123_456_78, 1 / 3]) {
      const created = await api.post('/products/', { ...sample.product, price })
      expect(created.body, String(price)).toMatchObject({ price })
      const id = await api.create('/products/', { ...sample.product, price })
      expect((await api.get(`/products/${id}`)).body, String(price)).toMatchObject({ price })
      expect((await api.get(`/products/?after_id=${id - 1}`)).body, String(price)).toMatchObject([{ price }])
    }
  })

  test('an integer field that is not a number gets int_type; "5" and true are not integers', async () => {
    for (const json of NO_NUMBERS) await areIntegersRefused(api, shown, json, notAnInteger)
  })

  test('an integer field with a fraction gets int_from_float', async () => {
    for (const json of ['4.5', '1e-1', '-0.5', '4.000000001']) await areIntegersRefused(api, shown, json, fraction)
  })

  test('an integer field that is not finite gets finite_number', async () => {
    for (const json of ['1e999', '-1e999', '9'.repeat(400)]) await areIntegersRefused(api, shown, json, notFinite)
  })

  test('an integer field beyond exact doubles gets int_parsing_size', async () => {
    for (const json of ['9007199254740992', '-9007199254740992', '9007199254740993', '1e300', '9'.repeat(30)]) {
      await areIntegersRefused(api, shown, json, tooLarge)
    }
  })

  test('an integer field written as 5.0 or 5e0 is the integer 5', async () => {
    const { productId, userId } = shown
    for (const five of ['5', '5.0', '5e0', '0.5e1', '50e-1', '5.000']) {
      const json = `{"product_id": ${productId}.0, "user_id": ${userId}e0, "rating": ${five}, "comment": ""}`
      const answer = await sendJson(api, 'POST', '/reviews/', json)
      expect(answer.body, five).toMatchObject({ product_id: productId, user_id: userId, rating: 5 })
    }
  })

  test('a rating below 1 gets greater_than_equal', async () => {
    for (const json of ['0', '-1', '-0', '-9007199254740991']) await isRatingRefused(api, shown, json, belowOne)
  })

  test('a rating above 5 gets less_than_equal', async () => {
    for (const json of ['6', '100', '9007199254740991']) await isRatingRefused(api, shown, json, aboveFive)
  })

  test('a rating from 1 to 5 is accepted', async () => {
    const { productId, userId } = shown
    for (const rating of [1, 2, 3, 4, 5]) {
      const answer = await api.post('/reviews/', { ...sample.review(productId, userId), rating })
      expect(answer.body, `rating ${rating}`).toMatchObject({ rating })
    }
  })

  test('a flag has no bounds, and the largest and smallest exact integers are returned unchanged', async () => {
    for (const value of [-1, 0, 2, 9_007_199_254_740_991, -9_007_199_254_740_991]) {
      const flags = Object.fromEntries(FLAGS.map(flag => [flag, value]))
      const id = await api.create('/users/', { ...sample.user, ...flags })
      expect((await api.get(`/users/${id}`)).body, String(value)).toMatchObject(flags)
    }
  })

  test('a flag may be left out, but may not be null', async () => {
    const body = JSON.stringify({ ...sample.user, is_admin: null })
    await isRefused(api, 'POST', '/users/', body, [at(['body', 'is_admin'], notAnInteger)])
  })
})

/** For each text field of 3 to 50 characters, on create and on update. */
async function areTextsRefused(
  api: Client,
  { categoryId, productId, userId }: Shelf,
  texts: readonly string[],
  fault: Fault,
): Promise<void> {
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

/** For each text field of every body; `text` goes between the quotes. */
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

async function isPriceRefused(api: Client, { productId }: Shelf, price: string, fault: Fault): Promise<void> {
  const json = `{"name": "Spade", "description": "", "price": ${price}}`
  await isRefused(api, 'POST', '/products/', json, [at(['body', 'price'], fault)])
  await isRefused(api, 'PUT', `/products/${productId}`, json, [at(['body', 'price'], fault)])
}

/** For each integer field of every body. */
async function areIntegersRefused(
  api: Client,
  { userId, reviewId }: Shelf,
  value: string,
  fault: Fault,
): Promise<void> {
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

async function isRatingRefused(
  api: Client,
  { productId, userId, reviewId }: Shelf,
  rating: string,
  fault: Fault,
): Promise<void> {
  const json = `{"product_id": ${productId}, "user_id": ${userId}, "rating": ${rating}, "comment": ""}`
  await isRefused(api, 'POST', '/reviews/', json, [at(['body', 'rating'], fault)])
  await isRefused(api, 'PATCH', `/reviews/${reviewId}`, json, [at(['body', 'rating'], fault)])
}
