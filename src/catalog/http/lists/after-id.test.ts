import { expect, setDefaultTimeout, test } from 'bun:test'
import {
  createAll,
  createCategories,
  idsOf,
  nextOf,
  reviewedProduct,
} from '../../../../test/harness/catalog/list-pages.ts'
import { onEachEngine } from '../../../../test/harness/contract.ts'
import { sample } from '../../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

onEachEngine('after_id', api => {
  test('after_id gives only the items with a greater id', async () => {
    const ids = await createCategories(api, 6)
    expect(idsOf(await api.get(`/categories/?after_id=${ids[2]}&limit=1000`))).toEqual(ids.slice(3))
    expect(idsOf(await api.get(`/categories/?after_id=${ids[5]}`))).toEqual([])
    expect(idsOf(await api.get(`/categories/?after_id=${ids[2]}&limit=2`))).toEqual(ids.slice(3, 5))
    expect(idsOf(await api.get(`/categories/?after_id=${ids[2]}&skip=1&limit=1`))).toEqual(ids.slice(4, 5))
  })

  test('a list after an id has next links with after_id, without skip', async () => {
    const ids = await createCategories(api, 6)
    const answer = await api.get(`/categories/?after_id=${ids[1]}&limit=2`)
    expect(answer.headers.get('Link')).toBe(`</categories/?after_id=${ids[3]}&limit=2>; rel="next"`)
    expect((await api.get(`/categories/?after_id=${ids[3]}&limit=2`)).headers.get('Link')).toBeNull()
  })

  test('after_id misses nothing when an earlier item is deleted between two pages', async () => {
    const ids = await createCategories(api, 6)
    const first = await api.get(`/categories/?after_id=${(ids[0] ?? 0) - 1}&limit=3`)
    expect(idsOf(first)).toEqual(ids.slice(0, 3))
    await api.delete(`/categories/${ids[0]}`)
    expect(idsOf(await api.get(nextOf(first) ?? ''))).toEqual(ids.slice(3))
  })

  test('after_id may be the id of an item that is deleted or never existed', async () => {
    const ids = await createCategories(api, 4)
    await api.delete(`/categories/${ids[1]}`)
    expect(idsOf(await api.get(`/categories/?after_id=${ids[1]}`))).toEqual(ids.slice(2))
    for (const after of ['9007199254740991', '9223372036854775808', '9'.repeat(400)]) {
      expect((await api.get(`/categories/?after_id=${after}`)).body, after).toEqual([])
    }
  })

  test('after_id is refused if it is negative or not an integer', async () => {
    for (const [text, type] of [
      ['-1', 'greater_than_equal'],
      ['x', 'int_parsing'],
      ['', 'int_parsing'],
    ] as const) {
      const answer = await api.get(`/categories/?after_id=${text}`)
      expect(answer.status, text).toBe(422)
      expect(answer.body, text).toMatchObject({ detail: [{ loc: ['query', 'after_id'], type }] })
    }
  })

  test('every list takes after_id, including the products of a category', async () => {
    const { productId, userId, reviewIds } = await reviewedProduct(api, 3)
    const categoryId = await api.create('/categories/', sample.category)
    const inCategory = await createAll(api, `/products/${categoryId}/products`, 3, () => sample.product)
    const nested = [`/reviews/products/${productId}`, `/reviews/users/${userId}`]
    for (const path of ['/reviews/', ...nested, `/reviews/products/${productId}/users/${userId}`]) {
      expect(idsOf(await api.get(`${path}?after_id=${reviewIds[0]}`)), path).toEqual(reviewIds.slice(1))
    }
    const products = await api.get(`/products/${categoryId}/products?after_id=${inCategory[0]}`)
    expect(idsOf(products)).toEqual(inCategory.slice(1))
    expect(idsOf(await api.get(`/products/?after_id=${inCategory[0]}`))).toEqual(inCategory.slice(1))
    expect(idsOf(await api.get(`/users/?after_id=${userId - 1}`))).toContain(userId)
  })
})
