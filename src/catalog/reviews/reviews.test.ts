import { expect, setDefaultTimeout, test } from 'bun:test'
import { onEachEngine } from '../../../test/harness/contract.ts'
import { sample } from '../../../test/harness/samples.ts'

setDefaultTimeout(60_000)

/** An id that no test creates. */
const ABSENT_ID = 9_007_199_254_740_991

const reviewNotFound = { detail: 'Review not found' }
const productNotFound = { detail: 'Product not found' }
const userNotFound = { detail: 'User not found' }

onEachEngine('reviews', api => {
  test('a review that is created comes back with its id, its user and its product', async () => {
    const { productId, userId } = await pair()
    const created = await api.post('/reviews/', sample.review(productId, userId))
    expect(created.status).toBe(200)
    expect(created.headers.get('Content-Type')).toBe('application/json')
    expect(created.body).toStrictEqual(shown(expect.any(Number), productId, userId))
  })

  test('a review that is read is as it was created, alone and in the list', async () => {
    const { productId, userId } = await pair()
    const id = await api.create('/reviews/', sample.review(productId, userId))
    const read = await api.get(`/reviews/${id}`)
    expect(read.status).toBe(200)
    expect(read.headers.get('Content-Type')).toBe('application/json')
    expect(read.body).toStrictEqual(shown(id, productId, userId))
    expect((await api.get(`/reviews/?after_id=${id - 1}`)).body).toStrictEqual([read.body])
  })

  test('a review shows neither the password nor the e-mail address of its user', async () => {
    const productId = await api.create('/products/', sample.product)
    const userId = await api.create('/users/', { ...sample.user, email: 'hidden@mail.example', is_admin: 1 })
    const id = await api.create('/reviews/', sample.review(productId, userId))
    const user = { id: userId, name: sample.user.name, avatar: sample.user.avatar }
    for (const { body } of [
      await api.get(`/reviews/${id}`),
      await api.patch(`/reviews/${id}`, sample.review(productId, userId)),
    ]) {
      expect(body).toStrictEqual({ ...shown(id, productId, userId), user })
      expect(JSON.stringify(body)).not.toContain('hidden@mail.example')
    }
  })

  test('a review shows its product without its reviews', async () => {
    const { productId, userId } = await pair()
    await api.create('/reviews/', sample.review(productId, userId))
    const id = await api.create('/reviews/', sample.review(productId, userId))
    expect((await api.get(`/reviews/${id}`)).body).toStrictEqual(shown(id, productId, userId))
  })

  test('a user may review a product more than once', async () => {
    const { productId, userId } = await pair()
    const first = await api.create('/reviews/', sample.review(productId, userId))
    expect(await api.create('/reviews/', sample.review(productId, userId))).toBeGreaterThan(first)
  })

  test('an update changes the whole review, in its answer and when read again', async () => {
    const { productId, userId } = await pair()
    const id = await api.create('/reviews/', sample.review(productId, userId))
    expect((await api.get(`/reviews/${id}`)).body).toStrictEqual(shown(id, productId, userId))
    const update = { product_id: productId, user_id: userId, rating: 1, comment: '' }
    const updated = await api.patch(`/reviews/${id}`, update)
    expect(updated.status).toBe(200)
    expect(updated.body).toStrictEqual({ ...shown(id, productId, userId), rating: 1, comment: '' })
    expect((await api.get(`/reviews/${id}`)).body).toStrictEqual(updated.body)
    expect((await api.get(`/reviews/?after_id=${id - 1}`)).body).toStrictEqual([updated.body])
  })

  test('an update changes no other review, and ignores an id in its body', async () => {
    const { productId, userId } = await pair()
    const other = await api.create('/reviews/', sample.review(productId, userId))
    const id = await api.create('/reviews/', sample.review(productId, userId))
    const updated = await api.patch(`/reviews/${id}`, { ...sample.review(productId, userId), id: other, rating: 1 })
    expect(updated.body).toStrictEqual({ ...shown(id, productId, userId), rating: 1 })
    expect((await api.get(`/reviews/${other}`)).body).toStrictEqual(shown(other, productId, userId))
  })

  test('an update may move a review to another product and another user', async () => {
    const from = await pair()
    const to = await pair()
    const id = await api.create('/reviews/', sample.review(from.productId, from.userId))
    const moved = await api.patch(`/reviews/${id}`, sample.review(to.productId, to.userId))
    expect(moved.body).toStrictEqual(shown(id, to.productId, to.userId))
    expect((await api.get(`/reviews/${id}`)).body).toStrictEqual(moved.body)
    for (const [{ productId, userId }, reviews] of [
      [from, []],
      [to, [{ id, ...sample.review(to.productId, to.userId) }]],
    ] as const) {
      expect((await api.get(`/reviews/products/${productId}`)).body).toMatchObject(reviews)
      expect((await api.get(`/reviews/users/${userId}`)).body).toMatchObject(reviews)
      expect((await api.get(`/products/${productId}`)).body).toMatchObject({ reviews })
      expect((await api.get(`/users/${userId}`)).body).toMatchObject({ reviews })
    }
  })

  test('an update sends all fields, although it is a PATCH', async () => {
    const { productId, userId } = await pair()
    const id = await api.create('/reviews/', sample.review(productId, userId))
    const answer = await api.patch(`/reviews/${id}`, { rating: 5 })
    expect(answer.status).toBe(422)
    expect(answer.body).toEqual({
      detail: ['product_id', 'user_id', 'comment'].map(field => ({
        type: 'missing',
        loc: ['body', field],
        msg: 'Field required',
      })),
    })
    expect((await api.get(`/reviews/${id}`)).body).toStrictEqual(shown(id, productId, userId))
  })

  test('a review shows its user and its product as they are now, not as they were', async () => {
    const { productId, userId } = await pair()
    const id = await api.create('/reviews/', sample.review(productId, userId))
    expect((await api.get(`/reviews/${id}`)).body).toStrictEqual(shown(id, productId, userId))
    await api.put(`/products/${productId}`, { name: 'Fork', description: 'Four prongs', price: 2 })
    await api.patch(`/users/${userId}`, { ...sample.user, name: 'Ada Marble', avatar: '/marble.png' })
    const expected = {
      ...shown(id, productId, userId),
      user: { id: userId, name: 'Ada Marble', avatar: '/marble.png' },
      product: { id: productId, name: 'Fork', description: 'Four prongs', price: 2 },
    }
    expect((await api.get(`/reviews/${id}`)).body).toStrictEqual(expected)
    expect((await api.get(`/reviews/users/${userId}`)).body).toStrictEqual([expected])
  })

  test('a delete answers the review as it stood just before', async () => {
    const { productId, userId } = await pair()
    const id = await api.create('/reviews/', sample.review(productId, userId))
    const deleted = await api.delete(`/reviews/${id}`)
    expect(deleted.status).toBe(200)
    expect(deleted.body).toStrictEqual(shown(id, productId, userId))
  })

  test('a review that was deleted is gone, wherever it was shown, and its user and product stay', async () => {
    const { productId, userId } = await pair()
    const id = await api.create('/reviews/', sample.review(productId, userId))
    await api.delete(`/reviews/${id}`)
    const gone = await api.get(`/reviews/${id}`)
    expect(gone.status).toBe(404)
    expect(gone.body).toEqual(reviewNotFound)
    for (const path of [`/reviews/?after_id=${id - 1}`, `/reviews/products/${productId}`, `/reviews/users/${userId}`]) {
      expect((await api.get(path)).body, path).toEqual([])
    }
    expect((await api.get(`/products/${productId}`)).body).toStrictEqual({
      id: productId,
      ...sample.product,
      reviews: [],
    })
    expect((await api.get(`/users/${userId}`)).body).toMatchObject({ id: userId, reviews: [] })
  })

  test('an id is never used again after a delete', async () => {
    const { productId, userId } = await pair()
    const id = await api.create('/reviews/', sample.review(productId, userId))
    await api.delete(`/reviews/${id}`)
    expect(await api.create('/reviews/', sample.review(productId, userId))).toBeGreaterThan(id)
  })

  test('an id is never used again after its product was deleted with its reviews', async () => {
    const { productId, userId } = await pair()
    const other = await api.create('/products/', sample.product)
    const id = await api.create('/reviews/', sample.review(productId, userId))
    await api.delete(`/products/${productId}`)
    expect(await api.create('/reviews/', sample.review(other, userId))).toBeGreaterThan(id)
  })

  test('a review that does not exist is not found, by any operation', async () => {
    const { productId, userId } = await pair()
    for (const id of [ABSENT_ID, 0, -1, '99999999999999999999']) {
      for (const answer of [
        await api.get(`/reviews/${id}`),
        await api.patch(`/reviews/${id}`, sample.review(productId, userId)),
        await api.delete(`/reviews/${id}`),
      ]) {
        expect(answer.status, String(id)).toBe(404)
        expect(answer.body, String(id)).toEqual(reviewNotFound)
      }
    }
    expect((await api.get(`/reviews/users/${userId}`)).body).toEqual([])
  })

  test('a review cannot be deleted twice, nor updated after', async () => {
    const { productId, userId } = await pair()
    const review = sample.review(productId, userId)
    const id = await api.create('/reviews/', review)
    expect((await api.delete(`/reviews/${id}`)).status).toBe(200)
    for (const answer of [await api.delete(`/reviews/${id}`), await api.patch(`/reviews/${id}`, review)]) {
      expect(answer.status).toBe(404)
      expect(answer.body).toEqual(reviewNotFound)
    }
  })

  test('a review of a product or by a user that does not exist is not found, and not created', async () => {
    const { productId, userId } = await pair()
    const lastId = await api.create('/reviews/', sample.review(productId, userId))
    for (const absent of [ABSENT_ID, 0, -1]) {
      const ofNoProduct = await api.post('/reviews/', sample.review(absent, userId))
      expect(ofNoProduct.status, String(absent)).toBe(404)
      expect(ofNoProduct.body, String(absent)).toEqual(productNotFound)
      const byNoUser = await api.post('/reviews/', sample.review(productId, absent))
      expect(byNoUser.status, String(absent)).toBe(404)
      expect(byNoUser.body, String(absent)).toEqual(userNotFound)
    }
    expect((await api.get(`/reviews/?after_id=${lastId}`)).body).toEqual([])
  })

  test('a review of a product that was deleted is not found', async () => {
    const { productId, userId } = await pair()
    await api.delete(`/products/${productId}`)
    const answer = await api.post('/reviews/', sample.review(productId, userId))
    expect(answer.status).toBe(404)
    expect(answer.body).toEqual(productNotFound)
  })

  test('of two unknown ids in a body the product is named', async () => {
    const { productId, userId } = await pair()
    const id = await api.create('/reviews/', sample.review(productId, userId))
    const absent = sample.review(ABSENT_ID, ABSENT_ID)
    for (const answer of [await api.post('/reviews/', absent), await api.patch(`/reviews/${id}`, absent)]) {
      expect(answer.status).toBe(404)
      expect(answer.body).toEqual(productNotFound)
    }
  })

  test('an update to a product or a user that does not exist is not found, and changes nothing', async () => {
    const { productId, userId } = await pair()
    const id = await api.create('/reviews/', sample.review(productId, userId))
    const ofNoProduct = await api.patch(`/reviews/${id}`, { ...sample.review(ABSENT_ID, userId), rating: 1 })
    expect(ofNoProduct.status).toBe(404)
    expect(ofNoProduct.body).toEqual(productNotFound)
    const byNoUser = await api.patch(`/reviews/${id}`, { ...sample.review(productId, ABSENT_ID), rating: 1 })
    expect(byNoUser.status).toBe(404)
    expect(byNoUser.body).toEqual(userNotFound)
    expect((await api.get(`/reviews/${id}`)).body).toStrictEqual(shown(id, productId, userId))
  })

  test('an invalid body is told before an unknown id in it', async () => {
    const answer = await api.post('/reviews/', { ...sample.review(ABSENT_ID, ABSENT_ID), rating: 6 })
    expect(answer.status).toBe(422)
    expect(answer.body).toMatchObject({ detail: [{ loc: ['body', 'rating'], type: 'less_than_equal' }] })
  })

  /** A product and a user of their own. */
  async function pair() {
    return {
      productId: await api.create('/products/', sample.product),
      userId: await api.create('/users/', sample.user),
    }
  }
})

onEachEngine('reviews of a product, a user or both', api => {
  test('are those alone, in order of id', async () => {
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

  test('are whole reviews, as in the list of all', async () => {
    const { products, users, reviews } = await crossed()
    const [spade] = products
    const [, bob] = users
    const review = shown(reviews.bobOnSpade, spade, bob)
    expect((await api.get(`/reviews/users/${bob}`)).body).toStrictEqual([review])
    expect((await api.get(`/reviews/products/${spade}/users/${bob}`)).body).toStrictEqual([review])
    expect((await api.get(`/reviews/products/${spade}?skip=1&limit=1`)).body).toStrictEqual([review])
  })

  test('are none where there are none', async () => {
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

  test('are read in pages by skip and limit', async () => {
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

  test('have the first 100 when no limit is given', async () => {
    const productId = await api.create('/products/', sample.product)
    const userId = await api.create('/users/', sample.user)
    const review = sample.review(productId, userId)
    await Promise.all(Array.from({ length: 101 }, () => api.create('/reviews/', review)))
    const nested = [`/reviews/products/${productId}`, `/reviews/users/${userId}`]
    for (const path of [...nested, `/reviews/products/${productId}/users/${userId}`]) {
      const listed = await api.get(path)
      expect(listed.body, path).toBeArrayOfSize(100)
      expect(listed.headers.get('Link'), path).toBe(`<${path}?skip=100&limit=100>; rel="next"`)
      expect((await api.get(`${path}?skip=100`)).body, path).toBeArrayOfSize(1)
    }
  })

  test('of a product that does not exist are not found, whatever page is asked for', async () => {
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

  test('of a user that does not exist are not found, whatever page is asked for', async () => {
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

  test('of a parent that exists are an empty list beyond the end, not a 404', async () => {
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

/** What an answer shows of a sample review, in exactly these fields. */
function shown(id: number, productId: number, userId: number) {
  return {
    id,
    ...sample.review(productId, userId),
    user: { id: userId, name: sample.user.name, avatar: sample.user.avatar },
    product: { id: productId, ...sample.product },
  }
}
