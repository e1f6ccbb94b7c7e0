import { expect, setDefaultTimeout, test } from 'bun:test'
import { onEachEngine } from '../../../test/harness/contract.ts'
import { sample } from '../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

/** An id that no test creates. */
const ABSENT_ID = 9_007_199_254_740_991

const reviewNotFound = { detail: 'Review not found' }
const productNotFound = { detail: 'Product not found' }
const userNotFound = { detail: 'User not found' }

onEachEngine('reviews', api => {
  test('a created review is returned with its id, its user and its product', async () => {
    const { productId, userId } = await pair()
    const created = await api.post('/reviews/', sample.review(productId, userId))
    expect(created.status).toBe(200)
    expect(created.headers.get('Content-Type')).toBe('application/json')
    expect(created.body).toStrictEqual(shown(expect.any(Number), productId, userId))
  })

  test('a review reads as it was created, alone and in the list', async () => {
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

  test('updating a review changes all of it, in the answer and when read again', async () => {
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

  test('updating a review changes no other review, and ignores an id in the body', async () => {
    const { productId, userId } = await pair()
    const other = await api.create('/reviews/', sample.review(productId, userId))
    const id = await api.create('/reviews/', sample.review(productId, userId))
    const updated = await api.patch(`/reviews/${id}`, { ...sample.review(productId, userId), id: other, rating: 1 })
    expect(updated.body).toStrictEqual({ ...shown(id, productId, userId), rating: 1 })
    expect((await api.get(`/reviews/${other}`)).body).toStrictEqual(shown(other, productId, userId))
  })

  test('updating a review may move it to another product and another user', async () => {
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

  test('updating a review takes all fields, although it is a PATCH', async () => {
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

  test('deleting a review returns it as it was just before', async () => {
    const { productId, userId } = await pair()
    const id = await api.create('/reviews/', sample.review(productId, userId))
    const deleted = await api.delete(`/reviews/${id}`)
    expect(deleted.status).toBe(200)
    expect(deleted.body).toStrictEqual(shown(id, productId, userId))
  })

  test('deleting a review removes it wherever it was shown, and keeps its user and product', async () => {
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

  test("a deleted review's id is never used again", async () => {
    const { productId, userId } = await pair()
    const id = await api.create('/reviews/', sample.review(productId, userId))
    await api.delete(`/reviews/${id}`)
    expect(await api.create('/reviews/', sample.review(productId, userId))).toBeGreaterThan(id)
  })

  test('the id of a review deleted with its product is never used again', async () => {
    const { productId, userId } = await pair()
    const other = await api.create('/products/', sample.product)
    const id = await api.create('/reviews/', sample.review(productId, userId))
    await api.delete(`/products/${productId}`)
    expect(await api.create('/reviews/', sample.review(other, userId))).toBeGreaterThan(id)
  })

  test('a review that does not exist is 404, for every operation', async () => {
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

  test('a review cannot be deleted twice, nor updated afterwards', async () => {
    const { productId, userId } = await pair()
    const review = sample.review(productId, userId)
    const id = await api.create('/reviews/', review)
    expect((await api.delete(`/reviews/${id}`)).status).toBe(200)
    for (const answer of [await api.delete(`/reviews/${id}`), await api.patch(`/reviews/${id}`, review)]) {
      expect(answer.status).toBe(404)
      expect(answer.body).toEqual(reviewNotFound)
    }
  })

  test('creating a review of a product or by a user that does not exist is 404, and creates nothing', async () => {
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

  test('creating a review of a deleted product is 404', async () => {
    const { productId, userId } = await pair()
    await api.delete(`/products/${productId}`)
    const answer = await api.post('/reviews/', sample.review(productId, userId))
    expect(answer.status).toBe(404)
    expect(answer.body).toEqual(productNotFound)
  })

  test('if neither the product nor the user of a new review exists, the 404 names the product', async () => {
    const { productId, userId } = await pair()
    const id = await api.create('/reviews/', sample.review(productId, userId))
    const absent = sample.review(ABSENT_ID, ABSENT_ID)
    for (const answer of [await api.post('/reviews/', absent), await api.patch(`/reviews/${id}`, absent)]) {
      expect(answer.status).toBe(404)
      expect(answer.body).toEqual(productNotFound)
    }
  })

  test('updating a review to a product or a user that does not exist is 404, and changes nothing', async () => {
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

  test('an invalid review body is reported before an unknown id in it', async () => {
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

/** A sample review as answers show it, with exactly these fields. */
function shown(id: number, productId: number, userId: number) {
  return {
    id,
    ...sample.review(productId, userId),
    user: { id: userId, name: sample.user.name, avatar: sample.user.avatar },
    product: { id: productId, ...sample.product },
  }
}
