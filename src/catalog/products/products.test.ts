import { expect, setDefaultTimeout, test } from 'bun:test'
import { onEachEngine } from '../../../test/harness/contract.ts'
import { sample } from '../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

/** An id that no test creates. */
const ABSENT_ID = 9_007_199_254_740_991

const NOT_FOUND = { detail: 'Product not found' }

onEachEngine('products', api => {
  test('a created product is returned with its id and no reviews', async () => {
    const created = await api.post('/products/', sample.product)
    expect(created.status).toBe(200)
    expect(created.headers.get('Content-Type')).toBe('application/json')
    expect(created.body).toStrictEqual({ id: expect.any(Number), ...sample.product, reviews: [] })
  })

  test('a product reads as it was created, alone and in the list', async () => {
    const id = await api.create('/products/', sample.product)
    const read = await api.get(`/products/${id}`)
    expect(read.status).toBe(200)
    expect(read.headers.get('Content-Type')).toBe('application/json')
    expect(read.body).toStrictEqual({ id, ...sample.product, reviews: [] })
    expect((await api.get(`/products/?after_id=${id - 1}`)).body).toStrictEqual([read.body])
  })

  test('updating a product changes all of it, in the answer and when read again', async () => {
    const id = await api.create('/products/', sample.product)
    expect((await api.get(`/products/${id}`)).body).toMatchObject(sample.product)
    const update = { name: 'Fork', description: '', price: 0.01 }
    const updated = await api.put(`/products/${id}`, update)
    expect(updated.status).toBe(200)
    expect(updated.body).toStrictEqual({ id, ...update, reviews: [] })
    expect((await api.get(`/products/${id}`)).body).toStrictEqual(updated.body)
    expect((await api.get(`/products/?after_id=${id - 1}`)).body).toStrictEqual([updated.body])
  })

  test('updating a product changes no other product', async () => {
    const other = await api.create('/products/', sample.product)
    const id = await api.create('/products/', sample.product)
    await api.put(`/products/${id}`, { name: 'Fork', description: '', price: 1 })
    expect((await api.get(`/products/${other}`)).body).toStrictEqual({ id: other, ...sample.product, reviews: [] })
  })

  test('an id in the body of a product update is ignored', async () => {
    const other = await api.create('/products/', sample.product)
    const id = await api.create('/products/', sample.product)
    const updated = await api.put(`/products/${id}`, { ...sample.product, id: other, price: 2 })
    expect(updated.body).toMatchObject({ id, price: 2 })
    expect((await api.get(`/products/${other}`)).body).toMatchObject({ id: other, price: sample.product.price })
  })

  test('a product shows its reviews, in order of id and with exactly these fields', async () => {
    const { productId, userIds, reviewIds } = await reviewed()
    const read = await api.get(`/products/${productId}`)
    expect(read.body).toStrictEqual({
      id: productId,
      ...sample.product,
      reviews: reviewIds.map((id, index) => ({
        id,
        product_id: productId,
        user_id: userIds[index],
        rating: index + 1,
        comment: `Number ${index}`,
      })),
    })
    expect((await api.get(`/products/?after_id=${productId - 1}`)).body).toStrictEqual([read.body])
    expect((await api.put(`/products/${productId}`, sample.product)).body).toStrictEqual(read.body)
  })

  test('a product shows an updated review as it is now, and no longer shows one that was deleted or moved', async () => {
    const { productId, userIds, reviewIds } = await reviewed()
    const [first, second, third] = reviewIds
    const elsewhere = await api.create('/products/', sample.product)
    const userId = userIds[0] ?? 0
    expect((await api.get(`/products/${productId}`)).body).toMatchObject({ reviews: [{ id: first }, {}, {}] })
    await api.patch(`/reviews/${first}`, { ...sample.review(productId, userId), rating: 5, comment: 'Better' })
    await api.delete(`/reviews/${second}`)
    await api.patch(`/reviews/${third}`, sample.review(elsewhere, userId))
    expect((await api.get(`/products/${productId}`)).body).toMatchObject({
      reviews: [{ id: first, rating: 5, comment: 'Better' }],
    })
    expect((await api.get(`/products/${elsewhere}`)).body).toMatchObject({ reviews: [{ id: third }] })
  })

  test('a product and a user show comments of any length', async () => {
    const id = await api.create('/products/', sample.product)
    const userId = await api.create('/users/', sample.user)
    const comments = [299, 300, 301, 5_000, 1].map(length => 'x'.repeat(length))
    comments.push('é'.repeat(150), 'é'.repeat(151), '😀'.repeat(75), '😀'.repeat(76), '')
    const reviews = comments.map(comment => ({ ...sample.review(id, userId), comment }))
    for (const review of reviews) await api.create('/reviews/', review)
    for (const [path, shownId] of [
      ['/products/', id],
      ['/users/', userId],
    ] as const) {
      expect((await api.get(`${path}${shownId}`)).body, path).toMatchObject({ reviews })
      expect((await api.get(`${path}?after_id=${shownId - 1}`)).body, path).toMatchObject([{ reviews }])
      expect((await api.get(`${path}?after_id=${shownId - 1}&limit=1000`)).body, path).toMatchObject([{ reviews }])
    }
  })

  test('deleting a product returns it as it was just before, with its reviews', async () => {
    const { productId } = await reviewed()
    const before = await api.get(`/products/${productId}`)
    const deleted = await api.delete(`/products/${productId}`)
    expect(deleted.status).toBe(200)
    expect(deleted.body).toStrictEqual(before.body)
  })

  test('deleting a product deletes its reviews, wherever those were shown', async () => {
    const { productId, userIds, reviewIds } = await reviewed()
    const other = await api.create('/products/', sample.product)
    const userId = userIds[0] ?? 0
    const kept = await api.create('/reviews/', sample.review(other, userId))
    expect((await api.get(`/products/${productId}`)).body).toMatchObject({ id: productId })
    expect((await api.get(`/users/${userId}`)).body).toMatchObject({ reviews: [{}, {}, { id: kept }] })
    await api.delete(`/products/${productId}`)
    const gone = await api.get(`/products/${productId}`)
    expect(gone.status).toBe(404)
    expect(gone.body).toEqual(NOT_FOUND)
    expect((await api.get(`/products/?after_id=${productId - 1}`)).body).toMatchObject([{ id: other }])
    for (const id of reviewIds) expect((await api.get(`/reviews/${id}`)).status).toBe(404)
    expect((await api.get(`/reviews/users/${userId}`)).body).toMatchObject([{ id: kept }])
    expect((await api.get(`/users/${userId}`)).body).toMatchObject({ reviews: [{ id: kept }] })
    expect((await api.get(`/reviews/products/${productId}`)).status).toBe(404)
  })

  test('deleting a product removes it from its category', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const id = await api.create(`/products/${categoryId}/products`, sample.product)
    const kept = await api.create(`/products/${categoryId}/products`, sample.product)
    for (const path of [`/products/${categoryId}/products`, `/categories/${categoryId}`]) {
      expect(JSON.stringify((await api.get(path)).body), path).toContain(`"id":${id},`)
    }
    await api.delete(`/products/${id}`)
    expect((await api.get(`/products/${categoryId}/products`)).body).toMatchObject([{ id: kept }])
    expect((await api.get(`/categories/${categoryId}`)).body).toMatchObject({ products: [{ id: kept }] })
  })

  test("a deleted product's id is never used again", async () => {
    const id = await api.create('/products/', sample.product)
    await api.delete(`/products/${id}`)
    expect(await api.create('/products/', sample.product)).toBeGreaterThan(id)
    expect((await api.get(`/products/${id}`)).status).toBe(404)
  })

  test('a product that does not exist is 404, for every operation', async () => {
    for (const id of [ABSENT_ID, 0, -1, '99999999999999999999']) {
      for (const answer of [
        await api.get(`/products/${id}`),
        await api.put(`/products/${id}`, sample.product),
        await api.delete(`/products/${id}`),
      ]) {
        expect(answer.status, String(id)).toBe(404)
        expect(answer.body, String(id)).toEqual(NOT_FOUND)
      }
    }
  })

  test('a product cannot be deleted twice, nor updated afterwards', async () => {
    const id = await api.create('/products/', sample.product)
    expect((await api.delete(`/products/${id}`)).status).toBe(200)
    for (const answer of [await api.delete(`/products/${id}`), await api.put(`/products/${id}`, sample.product)]) {
      expect(answer.status).toBe(404)
      expect(answer.body).toEqual(NOT_FOUND)
    }
  })

  test('two products may have the same name', async () => {
    const first = await api.create('/products/', sample.product)
    expect(await api.create('/products/', sample.product)).not.toBe(first)
  })

  /** A product with three reviews by two users. */
  async function reviewed() {
    const productId = await api.create('/products/', sample.product)
    const first = await api.create('/users/', sample.user)
    const userIds = [first, await api.create('/users/', sample.user), first]
    const reviewIds: number[] = []
    for (const [index, userId] of userIds.entries()) {
      const review = { ...sample.review(productId, userId), rating: index + 1, comment: `Number ${index}` }
      reviewIds.push(await api.create('/reviews/', review))
    }
    return { productId, userIds, reviewIds }
  }

  test('a product created in a category is a product like any other, in that category', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const created = await api.post(`/products/${categoryId}/products`, sample.product)
    expect(created.status).toBe(200)
    expect(created.headers.get('Content-Type')).toBe('application/json')
    expect(created.body).toStrictEqual({ id: expect.any(Number), ...sample.product, reviews: [] })
    const listed = await api.get(`/products/${categoryId}/products`)
    expect(listed.status).toBe(200)
    expect(listed.body).toStrictEqual([created.body])
  })

  test('a product created in a category is also in the list of all products, and can be read alone', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const id = await api.create(`/products/${categoryId}/products`, sample.product)
    const read = await api.get(`/products/${id}`)
    expect(read.body).toStrictEqual({ id, ...sample.product, reviews: [] })
    expect((await api.get(`/products/?after_id=${id - 1}`)).body).toStrictEqual([read.body])
  })

  test('the products of a category are its own alone, by id and with their reviews', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const other = await api.create('/categories/', sample.category)
    const first = await api.create(`/products/${categoryId}/products`, sample.product)
    await api.create(`/products/${other}/products`, sample.product)
    await api.create('/products/', sample.product)
    const second = await api.create(`/products/${categoryId}/products`, { ...sample.product, price: 2 })
    const userId = await api.create('/users/', sample.user)
    const review = sample.review(first, userId)
    const reviewId = await api.create('/reviews/', review)
    expect((await api.get(`/products/${categoryId}/products`)).body).toStrictEqual([
      { id: first, ...sample.product, reviews: [{ id: reviewId, ...review }] },
      { id: second, ...sample.product, price: 2, reviews: [] },
    ])
  })

  test('the products of an empty category are an empty list', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const listed = await api.get(`/products/${categoryId}/products`)
    expect(listed.status).toBe(200)
    expect(listed.body).toEqual([])
    expect(listed.headers.get('Link')).toBeNull()
  })

  test('the products of a category come whole, without skip and limit', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    await Promise.all(Array.from({ length: 120 }, () => api.create(`/products/${categoryId}/products`, sample.product)))
    const listed = await api.get(`/products/${categoryId}/products?skip=5&limit=7`)
    expect(listed.body).toBeArrayOfSize(120)
    expect(listed.headers.get('Link')).toBeNull()
  })

  test('updating a product keeps it in its category, or without one', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const inside = await api.create(`/products/${categoryId}/products`, sample.product)
    const outside = await api.create('/products/', sample.product)
    await api.put(`/products/${inside}`, { ...sample.product, price: 2 })
    await api.put(`/products/${outside}`, { ...sample.product, price: 2, category_id: categoryId })
    expect((await api.get(`/products/${categoryId}/products`)).body).toStrictEqual([
      { id: inside, ...sample.product, price: 2, reviews: [] },
    ])
  })

  test('deleting a category keeps its products, without a category', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const id = await api.create(`/products/${categoryId}/products`, sample.product)
    await api.delete(`/categories/${categoryId}`)
    expect((await api.get(`/products/${id}`)).body).toStrictEqual({ id, ...sample.product, reviews: [] })
    const listed = await api.get(`/products/${categoryId}/products`)
    expect(listed.status).toBe(404)
    expect(listed.body).toEqual({ detail: 'Category not found' })
  })

  test('the products of a category that does not exist are 404, and none is created there', async () => {
    const lastId = await api.create('/products/', sample.product)
    for (const id of [ABSENT_ID, 0, -1, '99999999999999999999']) {
      for (const answer of [
        await api.get(`/products/${id}/products`),
        await api.get(`/products/${id}/products?after_id=5`),
        await api.post(`/products/${id}/products`, sample.product),
      ]) {
        expect(answer.status, String(id)).toBe(404)
        expect(answer.body, String(id)).toEqual({ detail: 'Category not found' })
      }
    }
    expect((await api.get(`/products/?after_id=${lastId}`)).body).toEqual([])
  })
})
