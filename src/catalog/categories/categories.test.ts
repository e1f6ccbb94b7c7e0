import { expect, setDefaultTimeout, test } from 'bun:test'
import { type Client, client } from '../../../test/harness/client.ts'
import { onEachEngine, withEachEngine } from '../../../test/harness/contract.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService } from '../../../test/harness/service.ts'

setDefaultTimeout(120_000)

/** An id that no test creates. */
const ABSENT_ID = 9_007_199_254_740_991

const NOT_FOUND = { detail: 'Category not found' }

onEachEngine('categories', api => {
  test('a created category is returned with its id and no products', async () => {
    const created = await api.post('/categories/', sample.category)
    expect(created.status).toBe(200)
    expect(created.headers.get('Content-Type')).toBe('application/json')
    expect(created.body).toStrictEqual({ id: expect.any(Number), ...sample.category, products: [] })
  })

  test('a category reads as it was created, alone and in the list', async () => {
    const id = await api.create('/categories/', sample.category)
    const read = await api.get(`/categories/${id}`)
    expect(read.status).toBe(200)
    expect(read.headers.get('Content-Type')).toBe('application/json')
    expect(read.body).toStrictEqual({ id, ...sample.category, products: [] })
    expect((await api.get(`/categories/?after_id=${id - 1}`)).body).toStrictEqual([read.body])
  })

  test('a category shows its products, in order of id and with exactly these fields', async () => {
    const id = await api.create('/categories/', sample.category)
    const first = await api.create(`/products/${id}/products`, sample.product)
    await api.create('/products/', sample.product)
    const second = await api.create(`/products/${id}/products`, { ...sample.product, price: 2 })
    const userId = await api.create('/users/', sample.user)
    await api.create('/reviews/', sample.review(first, userId))
    const category = {
      id,
      ...sample.category,
      products: [
        { id: first, ...sample.product },
        { id: second, ...sample.product, price: 2 },
      ],
    }
    expect((await api.get(`/categories/${id}`)).body).toStrictEqual(category)
    expect((await api.get(`/categories/?after_id=${id - 1}`)).body).toStrictEqual([category])
  })

  test('a category shows an updated product as it is now', async () => {
    const id = await api.create('/categories/', sample.category)
    const productId = await api.create(`/products/${id}/products`, sample.product)
    expect((await api.get(`/categories/${id}`)).body).toMatchObject({ products: [sample.product] })
    await api.put(`/products/${productId}`, { name: 'Fork', description: 'Four prongs', price: 2 })
    const products = [{ id: productId, name: 'Fork', description: 'Four prongs', price: 2 }]
    expect((await api.get(`/categories/${id}`)).body).toStrictEqual({ id, ...sample.category, products })
  })

  test('updating a category changes all of it and keeps its products', async () => {
    const id = await api.create('/categories/', sample.category)
    const productId = await api.create(`/products/${id}/products`, sample.product)
    expect((await api.get(`/categories/${id}`)).body).toMatchObject(sample.category)
    const update = { name: 'Kitchen', description: 'All for the kitchen' }
    const updated = await api.put(`/categories/${id}`, update)
    expect(updated.status).toBe(200)
    expect(updated.body).toStrictEqual({ id, ...update, products: [{ id: productId, ...sample.product }] })
    expect((await api.get(`/categories/${id}`)).body).toStrictEqual(updated.body)
    expect((await api.get(`/categories/?after_id=${id - 1}`)).body).toStrictEqual([updated.body])
  })

  test('updating a category changes no other category, and ignores an id and products in its body', async () => {
    const other = await api.create('/categories/', sample.category)
    const id = await api.create('/categories/', sample.category)
    const productId = await api.create(`/products/${other}/products`, sample.product)
    const body = { ...sample.category, name: 'Kitchen', id: other, products: [{ id: productId }] }
    expect((await api.put(`/categories/${id}`, body)).body).toStrictEqual({
      id,
      ...sample.category,
      name: 'Kitchen',
      products: [],
    })
    expect((await api.get(`/categories/${other}`)).body).toStrictEqual({
      id: other,
      ...sample.category,
      products: [{ id: productId, ...sample.product }],
    })
  })

  test('deleting a category returns it as it was just before, with its products', async () => {
    const id = await api.create('/categories/', sample.category)
    await api.create(`/products/${id}/products`, sample.product)
    const before = await api.get(`/categories/${id}`)
    const deleted = await api.delete(`/categories/${id}`)
    expect(deleted.status).toBe(200)
    expect(deleted.body).toStrictEqual(before.body)
    expect(deleted.body).toMatchObject({ products: [sample.product] })
  })

  test('deleting a category removes it and keeps its products', async () => {
    const id = await api.create('/categories/', sample.category)
    const productId = await api.create(`/products/${id}/products`, sample.product)
    const userId = await api.create('/users/', sample.user)
    const reviewId = await api.create('/reviews/', sample.review(productId, userId))
    const product = await api.get(`/products/${productId}`)
    await api.delete(`/categories/${id}`)
    const gone = await api.get(`/categories/${id}`)
    expect(gone.status).toBe(404)
    expect(gone.body).toEqual(NOT_FOUND)
    expect((await api.get(`/categories/?after_id=${id - 1}`)).body).toEqual([])
    expect((await api.get(`/products/${productId}`)).body).toStrictEqual(product.body)
    expect((await api.get(`/reviews/${reviewId}`)).status).toBe(200)
  })

  test("a deleted category's id is never used again, so its products come into no new category", async () => {
    const id = await api.create('/categories/', sample.category)
    await api.create(`/products/${id}/products`, sample.product)
    await api.delete(`/categories/${id}`)
    const next = await api.create('/categories/', sample.category)
    expect(next).toBeGreaterThan(id)
    expect((await api.get(`/categories/${next}`)).body).toMatchObject({ products: [] })
    expect((await api.get(`/products/${next}/products`)).body).toEqual([])
  })

  test('a category that does not exist is 404, for every operation', async () => {
    for (const id of [ABSENT_ID, 0, -1, '99999999999999999999']) {
      for (const answer of [
        await api.get(`/categories/${id}`),
        await api.put(`/categories/${id}`, sample.category),
        await api.delete(`/categories/${id}`),
      ]) {
        expect(answer.status, String(id)).toBe(404)
        expect(answer.body, String(id)).toEqual(NOT_FOUND)
      }
    }
  })

  test('a category cannot be deleted twice, nor updated afterwards', async () => {
    const id = await api.create('/categories/', sample.category)
    expect((await api.delete(`/categories/${id}`)).status).toBe(200)
    for (const answer of [await api.delete(`/categories/${id}`), await api.put(`/categories/${id}`, sample.category)]) {
      expect(answer.status).toBe(404)
      expect(answer.body).toEqual(NOT_FOUND)
    }
  })

  test("a category's name and description may have 3 to 50 characters", async () => {
    for (const text of ['abc', 'a'.repeat(50)]) {
      const id = await api.create('/categories/', { name: text, description: text })
      expect((await api.get(`/categories/${id}`)).body).toMatchObject({ name: text, description: text })
    }
  })

  test('two categories may have the same name', async () => {
    const first = await api.create('/categories/', sample.category)
    expect(await api.create('/categories/', sample.category)).not.toBe(first)
  })
})

withEachEngine('a new catalog', engine => {
  test('a new catalog has empty lists; ids start at 1 and are not reused after a restart of the service', async () => {
    await using database = await engine.freshDatabase()
    const start = async () => {
      const service = await startService(database.url)
      return { api: client(() => service.address), [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() }
    }
    const expectEmpty = async (api: Client) => {
      for (const path of ['/categories/', '/products/', '/users/', '/reviews/']) {
        const { body, headers } = await api.get(path)
        expect({ body, link: headers.get('Link') }, path).toEqual({ body: [], link: null })
      }
    }
    {
      await using shop = await start()
      await expectEmpty(shop.api)
      expect(await shop.api.create('/products/', sample.product)).toBe(1)
      expect(await shop.api.create('/users/', sample.user)).toBe(1)
      expect(await shop.api.create('/reviews/', sample.review(1, 1))).toBe(1)
      expect(await shop.api.create('/categories/', sample.category)).toBe(1)
      for (const path of ['/categories/1', '/reviews/1', '/products/1', '/users/1']) await shop.api.delete(path)
    }
    await using again = await start()
    await expectEmpty(again.api)
    const productId = await again.api.create('/products/', sample.product)
    const userId = await again.api.create('/users/', sample.user)
    const reviewId = await again.api.create('/reviews/', sample.review(productId, userId))
    const categoryId = await again.api.create('/categories/', sample.category)
    for (const id of [productId, userId, reviewId, categoryId]) expect(id).toBeGreaterThan(1)
  })
})
