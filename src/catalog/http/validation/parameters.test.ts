import { expect, setDefaultTimeout, test } from 'bun:test'
import { shelf } from '../../../../test/harness/catalog/resources.ts'
import { at, belowZero, expectRefusal, notDigits } from '../../../../test/harness/catalog/validation-errors.ts'
import { onOneEngine } from '../../../../test/harness/contract.ts'
import { sample } from '../../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

/** Texts that are not integers, as a URL has them. */
const NO_INTEGERS = [
  ...['abc', '1.0', '1.', '.5', '1e3', '1E3', '0x1', '0b1', '0o7', '1_000', '1,000', '1n', '--1', '-%2B1', '-', '%2B'],
  ...['%201', '1%20', '1%0A', '%091', '%C2%A01', 'NaN', 'Infinity', 'true', 'null', 'None', '%00', '1%00', '%EF%BC%91'],
  ...['%D9%A1', '%E2%88%921', '%F0%9D%9F%8F', '%', '%ZZ', '%E0%A4%A', '%FF', '1;2', '1%2F2', '__proto__'],
]

onOneEngine('parameters', api => {
  test('an id in a path that is not an integer gets int_parsing, for each operation on one resource', async () => {
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

  test('an id in a path is an optional sign and ASCII digits, nothing else', async () => {
    for (const text of NO_INTEGERS) {
      expectRefusal(await api.get(`/products/${text}`), [at(['path', 'product_id'], notDigits)], text)
    }
  })

  test('an id in a path may have a sign and leading zeros', async () => {
    const id = await api.create('/products/', sample.product)
    const escaped = String(id).replaceAll(/[0-9]/g, digit => `%3${digit}`)
    for (const text of [`+${id}`, `%2B${id}`, `0${id}`, `+000000000000000000000000${id}`, escaped]) {
      expect((await api.get(`/products/${text}`)).body, text).toMatchObject({ id })
    }
  })

  test('an id in a path that is 0, negative or too large for any database is not found', async () => {
    const texts = ['0', '-0', '-1', '9007199254740993', '9223372036854775807', '9223372036854775808', '9'.repeat(1_000)]
    for (const text of [...texts, `-${'9'.repeat(1_000)}`]) {
      const answer = await api.get(`/products/${text}`)
      expect(answer.status, text).toBe(404)
      expect(answer.body, text).toEqual({ detail: 'Product not found' })
    }
  })

  test('skip and limit get int_parsing if they are not integers', async () => {
    for (const text of [...NO_INTEGERS, '', '+1', '1+']) {
      expectRefusal(
        await api.get(`/products/?limit=${text}&skip=${text}`),
        [at(['query', 'skip'], notDigits), at(['query', 'limit'], notDigits)],
        text,
      )
    }
  })

  test('skip and limit below 0 get greater_than_equal, however far below', async () => {
    for (const text of ['-1', '-007', '-9007199254740993', `-${'9'.repeat(400)}`]) {
      expectRefusal(
        await api.get(`/users/?skip=${text}&limit=${text}`),
        [at(['query', 'skip'], belowZero), at(['query', 'limit'], belowZero)],
        text,
      )
    }
  })

  test('skip and limit are refused alike by every list that takes them', async () => {
    const { productId, userId } = await shelf(api)
    const paths = ['/categories/', '/products/', '/reviews/', '/users/']
    const nested = [`/reviews/products/${productId}`, `/reviews/users/${userId}`]
    for (const path of [...paths, ...nested, `/reviews/products/${productId}/users/${userId}`]) {
      const detail = [at(['query', 'skip'], belowZero), at(['query', 'limit'], notDigits)]
      expectRefusal(await api.get(`${path}?skip=-1&limit=many`), detail, path)
    }
  })

  test('skip and limit may have a sign and leading zeros', async () => {
    await shelf(api)
    const plain = await api.get('/products/?skip=0&limit=1')
    expect(plain.body).toBeArrayOfSize(1)
    for (const query of ['skip=-0&limit=%2B1', 'skip=%2B0&limit=0001', 'skip=000&limit=%2B01']) {
      expect((await api.get(`/products/?${query}`)).body, query).toEqual(plain.body)
    }
  })

  test('if skip or limit is given twice, the last value counts', async () => {
    await shelf(api)
    const { productId } = await shelf(api)
    expect((await api.get('/products/?limit=x&limit=1')).body).toBeArrayOfSize(1)
    expect((await api.get(`/products/?limit=0&after_id=${productId - 1}&limit=5`)).body).toMatchObject([
      { id: productId },
    ])
    expectRefusal(await api.get('/products/?limit=1&limit=x'), [at(['query', 'limit'], notDigits)])
  })

  test('unknown query parameters beside skip and limit are ignored', async () => {
    await shelf(api)
    for (const query of ['LIMIT=x', 'limit%5B%5D=x', '__proto__=x', 'constructor=1', 'toString', '=x', '&&']) {
      const answer = await api.get(`/products/?${query}&limit=1`)
      expect(answer.status, query).toBe(200)
      expect(answer.body, query).toBeArrayOfSize(1)
    }
  })

  test('skip and limit are ignored by an operation that does not take them', async () => {
    const { categoryId, productId } = await shelf(api)
    for (const path of [`/products/${productId}`, `/products/${categoryId}/products`]) {
      expect((await api.get(`${path}?skip=x&limit=-1`)).status, path).toBe(200)
    }
  })
})

const JSON_HEADERS = { 'Content-Type': 'application/json' }
