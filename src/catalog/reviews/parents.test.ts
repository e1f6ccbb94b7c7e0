import { expect, setDefaultTimeout, test } from 'bun:test'
import { createMany } from '../../../test/harness/catalog/created.ts'
import { idsOf } from '../../../test/harness/catalog/list-pages.ts'
import { onEachEngine } from '../../../test/harness/contract.ts'
import { sample } from '../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

/** An id that no test creates. */
const ABSENT_ID = 9_007_199_254_740_991
const productNotFound = { detail: 'Product not found' }
const userNotFound = { detail: 'User not found' }

onEachEngine('reviews of a product, a user or both', api => {
  test('the reviews of a product, a user or both are those alone, in order of id', async () => {
    const { products, users, reviews } = await crossed()
    const [spade, fork] = products
    const [ada, bob] = users
    for (const [path, expected] of [
      [`/reviews/products/${spade}`, [reviews.adaOnSpade, reviews.bobOnSpade, reviews.adaOnSpadeAgain]],
      [`/reviews/products/${fork}`, [reviews.adaOnFork]],
      [`/reviews/users/${ada}`, [reviews.adaOnSpade, reviews.adaOnFork, reviews.adaOnSpadeAgain]],
      [`/reviews/users/${bob}`, [reviews.bobOnSpade]],
      [`/reviews/products/${spade}/users/${ada}`, [reviews.adaOnSpade, reviews.adaOnSpadeAgain]],
      [`/reviews/products/${fork}/users/${ada}`, [reviews.adaOnFork]],
    ] as const) {
      const listed = await api.get(path)
      expect(listed.status, path).toBe(200)
      expect(listed.body, path).toMatchObject(expected.map(id => ({ id })))
      expect(listed.body, path).toBeArrayOfSize(expected.length)
    }
  })

  test('the reviews of a product, a user or both are whole, as in the list of all', async () => {
    const { products, users, reviews } = await crossed()
    const [spade] = products
    const [, bob] = users
    const review = shown(reviews.bobOnSpade, spade, bob)
    expect((await api.get(`/reviews/users/${bob}`)).body).toStrictEqual([review])
    expect((await api.get(`/reviews/products/${spade}/users/${bob}`)).body).toStrictEqual([review])
    expect((await api.get(`/reviews/products/${spade}?skip=1&limit=1`)).body).toStrictEqual([review])
  })

  test('the reviews of a product by a user are found, however many each of them has', async () => {
    const [spade, fork] = [
      await api.create('/products/', sample.product),
      await api.create('/products/', sample.product),
    ]
    const [ada, bob] = [await api.create('/users/', sample.user), await api.create('/users/', sample.user)]
    const reviewed = (product: number, user: number, count: number) =>
      createMany(api, '/reviews/', Array(count).fill(sample.review(product, user)))
    const byAda = [...(await reviewed(spade, ada, 3)), ...(await reviewed(spade, ada, 250))]
    await Promise.all([reviewed(spade, bob, 300), reviewed(fork, ada, 400)])
    byAda.push(...(await reviewed(spade, ada, 3)))
    byAda.sort((one, other) => one - other)
    const onFork = await reviewed(fork, bob, 1)
    const path = `/reviews/products/${spade}/users/${ada}`
    expect(idsOf(await api.get(`${path}?limit=100`))).toEqual(byAda.slice(0, 100))
    expect(idsOf(await api.get(`${path}?skip=200&limit=1000`))).toEqual(byAda.slice(200))
    expect(idsOf(await api.get(`${path}?limit=1000`))).toEqual(byAda)
    const some = await api.get(`${path}?after_id=${byAda[9]}&skip=5&limit=210`)
    expect(idsOf(some)).toEqual(byAda.slice(15, 225))
    expect(some.headers.get('Link')).toContain(`after_id=${byAda[224]}`)
    expect(idsOf(await api.get(`/reviews/products/${fork}/users/${bob}`))).toEqual(onFork)
  })

  test('the reviews of a product or user without any are an empty list', async () => {
    const { products, users } = await crossed()
    const [, fork] = products
    const [, bob] = users
    const unread = await api.create('/products/', sample.product)
    const silent = await api.create('/users/', sample.user)
    for (const path of [
      `/reviews/products/${unread}`,
      `/reviews/users/${silent}`,
      `/reviews/products/${fork}/users/${bob}`,
      `/reviews/products/${unread}/users/${silent}`,
    ]) {
      const listed = await api.get(path)
      expect(listed.status, path).toBe(200)
      expect(listed.body, path).toEqual([])
      expect(listed.headers.get('Link'), path).toBeNull()
    }
  })

  test('the reviews of a product, a user or both are paged by skip and limit', async () => {
    const { products, users, reviews } = await crossed()
    const [spade] = products
    const [ada] = users
    for (const [path, second] of [
      [`/reviews/products/${spade}`, reviews.bobOnSpade],
      [`/reviews/users/${ada}`, reviews.adaOnFork],
      [`/reviews/products/${spade}/users/${ada}`, reviews.adaOnSpadeAgain],
    ] as const) {
      const page = await api.get(`${path}?skip=1&limit=1`)
      expect(page.body, path).toMatchObject([{ id: second }])
      expect(page.body, path).toBeArrayOfSize(1)
      expect((await api.get(`${path}?skip=3`)).body, path).toEqual([])
      expect((await api.get(`${path}?limit=0`)).body, path).toEqual([])
      expect((await api.get(path)).body, path).not.toEqual(page.body)
    }
  })

  test('the reviews of a product, a user or both are the first 100 by default', async () => {
    const productId = await api.create('/products/', sample.product)
    const userId = await api.create('/users/', sample.user)
    const review = sample.review(productId, userId)
    await createMany(api, '/reviews/', Array(101).fill(review))
    const nested = [`/reviews/products/${productId}`, `/reviews/users/${userId}`]
    for (const path of [...nested, `/reviews/products/${productId}/users/${userId}`]) {
      const listed = await api.get(path)
      expect(listed.body, path).toBeArrayOfSize(100)
      expect(listed.headers.get('Link'), path).toBe(`<${path}?skip=100&limit=100>; rel="next"`)
      expect((await api.get(`${path}?skip=100`)).body, path).toBeArrayOfSize(1)
    }
  })

  test('the reviews of a product that does not exist are 404, whatever page is asked for', async () => {
    const userId = await api.create('/users/', sample.user)
    for (const id of [ABSENT_ID, 0, -1, '99999999999999999999']) {
      for (const path of [`/reviews/products/${id}`, `/reviews/products/${id}/users/${userId}`]) {
        for (const page of ['', '?limit=0', '?skip=1000', '?after_id=1']) {
          const listed = await api.get(path + page)
          expect(listed.status, path + page).toBe(404)
          expect(listed.body, path + page).toEqual(productNotFound)
        }
      }
    }
  })

  test('the reviews of a user that does not exist are 404, whatever page is asked for', async () => {
    const productId = await api.create('/products/', sample.product)
    for (const id of [ABSENT_ID, 0, -1, '99999999999999999999']) {
      for (const path of [`/reviews/users/${id}`, `/reviews/products/${productId}/users/${id}`]) {
        for (const page of ['', '?limit=0', '?skip=1000', '?after_id=1']) {
          const listed = await api.get(path + page)
          expect(listed.status, path + page).toBe(404)
          expect(listed.body, path + page).toEqual(userNotFound)
        }
      }
    }
  })

  test('the reviews of an existing product or user beyond the end are an empty list, not a 404', async () => {
    const { products, users } = await crossed()
    for (const path of [
      `/reviews/products/${products[0]}`,
      `/reviews/users/${users[0]}`,
      `/reviews/products/${products[0]}/users/${users[0]}`,
    ]) {
      for (const page of ['?limit=0', '?skip=1000', `?after_id=${ABSENT_ID}`]) {
        const listed = await api.get(path + page)
        expect(listed.status, path + page).toBe(200)
        expect(listed.body, path + page).toEqual([])
      }
    }
  })

  /** Two products and two users, with reviews across them. */
  async function crossed() {
    const spade = await api.create('/products/', sample.product)
    const fork = await api.create('/products/', sample.product)
    const ada = await api.create('/users/', sample.user)
    const bob = await api.create('/users/', sample.user)
    const reviews = {
      adaOnSpade: await api.create('/reviews/', sample.review(spade, ada)),
      bobOnSpade: await api.create('/reviews/', sample.review(spade, bob)),
      adaOnFork: await api.create('/reviews/', sample.review(fork, ada)),
      adaOnSpadeAgain: await api.create('/reviews/', sample.review(spade, ada)),
    }
    return { products: [spade, fork] as const, users: [ada, bob] as const, reviews }
  }
})

/** A sample review as answers show it, with exactly these fields. */
function shown(id: number, productId: number, userId: number) {
  return {
    id,
    ...sample.review(productId, userId),
    user: { id: userId, name: sample.user.name, avatar: sample.user.avatar },
    product: { id: productId, ...sample.product },
  }
}
