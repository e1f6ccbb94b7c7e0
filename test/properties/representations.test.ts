import { expect, setDefaultTimeout, test } from 'bun:test'
import fc from 'fast-check'
import { anyCharacter } from '../harness/any-character.ts'
import { onEachEngine } from '../harness/contract.ts'
import { sample } from '../harness/samples.ts'

setDefaultTimeout(120_000)

/** More than one chunk of a list that streams. */
const PRODUCTS_MIN = 250

/** Numbers that JSON writers write in different ways. */
const PRICES = [
  '134',
  '134.0',
  '1e2',
  '0.1',
  '19.99',
  '100000000000000000000',
  '1e21',
  '123456789012345680000',
  '9007199254740993',
  '0.00001',
  '1e-7',
  '5e-324',
  '2.2250738585072014e-308',
  '1.7976931348623157e308',
  '0.30000000000000004',
  '4.35',
  '1.0000000000000002',
]

/** Texts that JSON writers escape in different ways, as a body may have them. */
const TEXTS = [
  '\\u2028\\u2029\u2028\u2029',
  '\\u0001\\b\\f\\n\\r\\t\\u000b\\u001f\\u007f\u007f\u0080',
  '\\/ / \\\\ \\" \'',
  '</script><!-- & -->',
  '\\ud83d\\ude00 😀 \ufeff \ufffe',
  '{"price":134.0}'.replaceAll('"', '\\"'),
]

interface Answer {
  readonly status: number
  readonly text: string
}

onEachEngine('representations', api => {
  const ask = async (method: string, path: string, body?: string): Promise<Answer> => {
    const headers = { 'Content-Type': 'application/json' }
    const response = await fetch(api.address() + path, { method, headers, ...(body !== undefined && { body }) })
    return { status: response.status, text: await response.text() }
  }
  const isShownAs = async (expected: unknown, method: string, path: string, body?: string) => {
    expect(await ask(method, path, body), `${method} ${path}`).toEqual({ status: 200, text: JSON.stringify(expected) })
  }
  /** Read from the database after a write, and again when it may be cached. */
  const isRead = async (expected: unknown, ...paths: readonly string[]) => {
    for (const path of [...paths, ...paths]) await isShownAs(expected, 'GET', path)
  }

  test('a resource is the same to the last byte, whichever way it is read', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const userId = await api.create('/users/', sample.user)
    const bodies = [
      ...PRICES.map((price, place) => ({ price, text: TEXTS[place % TEXTS.length] ?? '' })),
      ...fc.sample(fc.record({ price: anyPrice, text: anyText }), PRODUCTS_MIN),
    ]
    const products: { id: number; name: string; description: string; price: number; reviews: object[] }[] = []
    for (const { price, text } of bodies) {
      const body = `{"name": "Spade", "description": "${text}", "price": ${price}}`
      const created = await ask('POST', `/products/${categoryId}/products`, body)
      const { id } = JSON.parse(created.text)
      const { description, price: value } = JSON.parse(body)
      const product = { id, name: 'Spade', description, price: value, reviews: [] }
      products.push(product)
      expect(created).toEqual({ status: 200, text: JSON.stringify(product) })
      if (products.length > PRICES.length) continue
      const own = `/products/${id}`
      const alone = [
        `/products/?after_id=${id - 1}&limit=1`,
        `/products/${categoryId}/products?after_id=${id - 1}&limit=1`,
      ]
      await isShownAs(product, 'PUT', own, body)
      await isRead(product, own)
      await isRead([product], ...alone)
    }
    await isRead(products, '/products/?limit=1000000', `/products/${categoryId}/products`)
    const embedded = products.map(({ reviews, ...shown }) => shown)
    const category = { id: categoryId, ...sample.category, products: embedded.slice(0, 100) }
    await isRead(category, `/categories/${categoryId}`)
    await isRead([category], '/categories/')
    await isShownAs(category, 'PUT', `/categories/${categoryId}`, JSON.stringify(sample.category))

    const reviews: object[] = []
    const user = { id: userId, name: sample.user.name, avatar: sample.user.avatar }
    for (const [place, product] of embedded.entries()) {
      const comment = bodies[place]?.text ?? ''
      const body = `{"product_id": ${product.id}, "user_id": ${userId}, "rating": 4, "comment": "${comment}"}`
      const created = await ask('POST', '/reviews/', body)
      const { id } = JSON.parse(created.text)
      const review = { id, ...JSON.parse(body) }
      const shown = { ...review, user, product }
      reviews.push(shown)
      expect(created).toEqual({ status: 200, text: JSON.stringify(shown) })
      products[place]?.reviews.push(review)
      if (reviews.length > PRICES.length) continue
      await isShownAs(shown, 'PATCH', `/reviews/${id}`, body)
      await isRead(shown, `/reviews/${id}`)
      await isRead([shown], `/reviews/?after_id=${id - 1}&limit=1`, `/reviews/products/${product.id}`)
      await isRead([shown], `/reviews/products/${product.id}/users/${userId}`)
      await isRead(products[place], `/products/${product.id}`)
    }
    await isRead(reviews, '/reviews/?limit=1000000', `/reviews/users/${userId}?limit=1000000`)
    await isRead(products, '/products/?limit=1000000', `/products/${categoryId}/products`)

    for (const product of products.slice(0, PRICES.length))
      await isShownAs(product, 'DELETE', `/products/${product.id}`)
    await isShownAs(reviews[PRICES.length], 'DELETE', `/reviews/${idOf(reviews[PRICES.length])}`)
    const left = { ...category, products: embedded.slice(PRICES.length, PRICES.length + 100) }
    await isShownAs(left, 'DELETE', `/categories/${categoryId}`)
  })
})

const anyPrice = fc
  .double({ min: 0, minExcluded: true, noNaN: true, noDefaultInfinity: true })
  .map(price => JSON.stringify(price))
const anyText = fc
  .string({ unit: anyCharacter, maxLength: 20 })
  .filter(text => !text.includes('\0'))
  .map(text => JSON.stringify(text).slice(1, -1))

function idOf(resource: object | undefined): number {
  return resource && 'id' in resource && typeof resource.id === 'number' ? resource.id : Number.NaN
}
