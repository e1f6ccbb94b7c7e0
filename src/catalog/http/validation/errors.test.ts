import { expect, setDefaultTimeout, test } from 'bun:test'
import {
  aboveFive,
  at,
  belowZero,
  expectRefusal,
  fraction,
  isRefused,
  missing,
  notAboveZero,
  notAnInteger,
  notAnObject,
  notAString,
  notDigits,
  notJson,
  sendJson,
  tooLong,
  tooShort,
} from '../../../../test/harness/catalog/validation-errors.ts'
import { onOneEngine } from '../../../../test/harness/contract.ts'
import { sample } from '../../../../test/harness/samples.ts'

setDefaultTimeout(120_000)
const SECRET = 'the-rejected-secret'
const ABSENT_ID = 9_007_199_254_740_991

/** Every integer field without bounds. */
const FLAGS = ['is_active', 'is_admin', 'is_banned', 'is_blocked', 'is_deleted', 'is_suspended', 'is_verified']

onOneEngine('422 answers', api => {
  test('a 422 names all errors of a body at once, in the order of the fields', async () => {
    const body = '{"comment": 1, "rating": 9, "user_id": "1"}'
    await isRefused(api, 'POST', '/reviews/', body, [
      at(['body', 'product_id'], missing),
      at(['body', 'user_id'], notAnInteger),
      at(['body', 'rating'], aboveFive),
      at(['body', 'comment'], notAString),
    ])
  })

  test('a 422 names all errors of a whole user, flags included', async () => {
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

  test('a 422 names errors of the path before errors of the body', async () => {
    await isRefused(api, 'PUT', '/products/x', '{"name": "ab", "price": 0}', [
      at(['path', 'product_id'], notDigits),
      at(['body', 'name'], tooShort),
      at(['body', 'description'], missing),
      at(['body', 'price'], notAboveZero),
    ])
  })

  test('a 422 names errors of the path before errors of the query', async () => {
    const answer = await api.get('/reviews/products/x/users/1.0?limit=1e3&skip=-5')
    expectRefusal(answer, [
      at(['path', 'product_id'], notDigits),
      at(['path', 'user_id'], notDigits),
      at(['query', 'skip'], belowZero),
      at(['query', 'limit'], notDigits),
    ])
  })

  test('a 422 names an unreadable body as one error beside the errors of the path', async () => {
    const path = at(['path', 'product_id'], notDigits)
    await isRefused(api, 'PUT', '/products/x', '{"name": }', [path, at(['body', 9], notJson)])
    await isRefused(api, 'PUT', '/products/x', '', [path, at(['body'], missing)])
    await isRefused(api, 'PUT', '/products/x', '[]', [path, at(['body'], notAnObject)])
  })

  test('a 422 comes before a 404: an invalid body for an id that does not exist', async () => {
    await isRefused(api, 'PUT', `/products/${ABSENT_ID}`, '{"name": "Spade", "description": "", "price": 0}', [
      at(['body', 'price'], notAboveZero),
    ])
  })

  test('a 422 is JSON of exactly the shape of HTTPValidationError', async () => {
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

  test('each error has its members in the order of the interface description', async () => {
    const answers = [
      await sendJson(api, 'PUT', '/products/x', ''),
      await sendJson(api, 'POST', '/products/', '{"name": "ab"}'),
      await api.get('/products/?limit=-1'),
      await api.get('/products/?cursor=x'),
      await api.get('/products/?sort=id&limit=1001'),
      await api.send('/products/', { method: 'POST', body: '{}', headers: { 'Idempotency-Key': '"' } }),
      await api.send('/products/', {
        method: 'POST',
        body: '{"name": "Spade", "description": "", "price": 1, "category_id": 99}\n1',
        headers: { 'Content-Type': 'application/x-ndjson' },
      }),
    ]
    const members = answers.flatMap(({ body }) => JSON.stringify(body).match(/"(loc|msg|type)":/g))
    expect(members).toEqual(Array(11).fill(['"loc":', '"msg":', '"type":']).flat())
  })

  test('a 422 never repeats what was sent', async () => {
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
