import { expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import { createMany, reviewedProduct } from '../../../../test/harness/catalog/created.ts'
import { embeddedIds, idsOf } from '../../../../test/harness/catalog/list-pages.ts'
import { onEachEngine } from '../../../../test/harness/contract.ts'
import { sample } from '../../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

/** Limit on the JSON of a nested array's items. */
const ITEMS_MAX_CHARACTERS = 1_048_576

/** The specification's default page, and the longest nested array. */
const PAGE_ITEMS = 100

const WithReviews = z.object({ reviews: z.array(z.unknown()) })

onEachEngine('nested arrays', api => {
  test('a nested array has the first 100 items by id, in a list as in the resource', async () => {
    const { productId, userId, reviewIds } = await reviewedProduct(api, PAGE_ITEMS + 30)
    const categoryId = await api.create('/categories/', sample.category)
    const inCategory = await createMany(
      api,
      '/products/',
      Array(PAGE_ITEMS + 1).fill({ ...sample.product, category_id: categoryId }),
    )
    for (const [path, id, member, ids] of [
      ['/products', productId, 'reviews', reviewIds],
      ['/users', userId, 'reviews', reviewIds],
      ['/categories', categoryId, 'products', inCategory],
    ] as const) {
      const one = await api.get(`${path}/${id}`)
      expect(embeddedIds(one.body, member), path).toEqual(ids.slice(0, PAGE_ITEMS))
      const [listed] = z.array(z.unknown()).parse((await api.get(`${path}/?after_id=${id - 1}&limit=1`)).body)
      expect(listed, path).toEqual(one.body)
    }
  })

  test('each resource of a list has its items, however many the one before it has', async () => {
    const { productId, userId } = await reviewedProduct(api, 3 * PAGE_ITEMS)
    const other = await api.create('/users/', sample.user)
    const review = await api.create('/reviews/', sample.review(productId, other))
    const [, listed] = z.array(z.unknown()).parse((await api.get(`/users/?after_id=${userId - 1}&limit=2`)).body)
    expect(embeddedIds(listed, 'reviews')).toEqual([review])
  })

  test('a nested array that was cut has a link to the rest', async () => {
    const { productId, userId, reviewIds } = await reviewedProduct(api, PAGE_ITEMS + 3)
    const product = await api.get(`/products/${productId}`)
    expect(product.headers.get('Link')).toBe(`</reviews/products/${productId}?skip=100>; rel="more"`)
    expect(idsOf(await api.get(`/reviews/products/${productId}?skip=100`))).toEqual(reviewIds.slice(PAGE_ITEMS))
    const user = await api.get(`/users/${userId}`)
    expect(user.headers.get('Link')).toBe(`</reviews/users/${userId}?skip=100>; rel="more"`)
    expect(idsOf(await api.get(`/reviews/users/${userId}?skip=100`))).toEqual(reviewIds.slice(PAGE_ITEMS))
  })

  test('a category whose nested products were cut has a link to the rest of them', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const ids = await createMany(
      api,
      '/products/',
      Array(PAGE_ITEMS + 3).fill({ ...sample.product, category_id: categoryId }),
    )
    const [, path] =
      /^<([^>]+)>; rel="more"$/.exec((await api.get(`/categories/${categoryId}`)).headers.get('Link') ?? '') ?? []
    expect(path).toStartWith(`/products/${categoryId}/products?`)
    expect(idsOf(await api.get(path ?? ''))).toEqual(ids.slice(PAGE_ITEMS))
  })

  test('a nested array of exactly 100 items is whole and has no link', async () => {
    const { productId, userId, reviewIds } = await reviewedProduct(api, PAGE_ITEMS)
    for (const path of [`/products/${productId}`, `/users/${userId}`]) {
      const answer = await api.get(path)
      expect(embeddedIds(answer.body, 'reviews'), path).toEqual(reviewIds)
      expect(answer.headers.get('Link'), path).toBeNull()
    }
    await api.create('/reviews/', sample.review(productId, userId))
    expect((await api.get(`/products/${productId}`)).headers.get('Link')).toContain('rel="more"')
    await api.delete(`/reviews/${reviewIds[0]}`)
    expect((await api.get(`/products/${productId}`)).headers.get('Link')).toBeNull()
  })

  test('a nested array is also cut in the answers to an update and a delete', async () => {
    const { productId, userId, reviewIds } = await reviewedProduct(api, PAGE_ITEMS + 1)
    const product = `</reviews/products/${productId}?skip=100>; rel="more"`
    const user = `</reviews/users/${userId}?skip=100>; rel="more"`
    for (const [answer, link] of [
      [await api.put(`/products/${productId}`, sample.product), product],
      [await api.patch(`/users/${userId}`, sample.user), user],
      [await api.delete(`/products/${productId}`), product],
    ] as const) {
      expect(embeddedIds(answer.body, 'reviews')).toEqual(reviewIds.slice(0, PAGE_ITEMS))
      expect(answer.headers.get('Link')).toBe(link)
    }
  })

  test("a category's nested products are also cut in the answers to an update and a delete", async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const ids = await createMany(
      api,
      '/products/',
      Array(PAGE_ITEMS + 1).fill({ ...sample.product, category_id: categoryId }),
    )
    const { headers } = await api.get(`/categories/${categoryId}`)
    expect(headers.get('Link')).toContain('rel="more"')
    for (const answer of [
      await api.put(`/categories/${categoryId}`, sample.category),
      await api.delete(`/categories/${categoryId}`),
    ]) {
      expect(embeddedIds(answer.body, 'products')).toEqual(ids.slice(0, PAGE_ITEMS))
      expect(answer.headers.get('Link')).toBe(headers.get('Link'))
    }
  })

  test('a nested array that was cut has no link in a list, where the link could not say which item it belongs to', async () => {
    const { productId } = await reviewedProduct(api, PAGE_ITEMS + 1)
    const answer = await api.get(`/products/?after_id=${productId - 1}`)
    expect(idsOf(answer)).toContain(productId)
    expect(answer.headers.get('Link')).toBeNull()
  })

  test('a nested array is cut before the item with which its JSON exceeds 1 MiB', async () => {
    const productId = await api.create('/products/', sample.product)
    const userId = await api.create('/users/', sample.user)
    const add = (comment: string) => api.create('/reviews/', { ...sample.review(productId, userId), comment })
    const kept: unknown[] = []
    const reviews = async () => {
      const answer = await api.get(`/products/${productId}`)
      return { shown: WithReviews.parse(answer.body).reviews, link: answer.headers.get('Link') }
    }
    // Every kind of character: one byte, two, three, a pair, and one that JSON escapes.
    for (const comment of ['x', 'é', '水', '🦜', '"'].map(text => text.repeat(100_000 / text.length))) {
      await add(comment)
      kept.push(...(await reviews()).shown.slice(-1))
    }
    const lastId = await add('')
    const room = ITEMS_MAX_CHARACTERS - JSON.stringify(kept.concat((await reviews()).shown.slice(-1))).length + 2 + 5
    const last = `/reviews/${lastId}`
    await api.patch(last, { ...sample.review(productId, userId), comment: 'x'.repeat(room) })
    expect(await reviews()).toMatchObject({ shown: { length: 6 }, link: null })
    expect((await api.get(`/users/${userId}`)).headers.get('Link')).toBeNull()
    await api.patch(last, { ...sample.review(productId, userId), comment: 'x'.repeat(room + 1) })
    expect(await reviews()).toEqual({ shown: kept, link: `</reviews/products/${productId}?skip=5>; rel="more"` })
    expect(idsOf(await api.get(`/reviews/products/${productId}?skip=5`))).toEqual([lastId])
    const user = await api.get(`/users/${userId}`)
    expect(user.headers.get('Link')).toBe(`</reviews/users/${userId}?skip=5>; rel="more"`)
    const [listed] = z.array(z.unknown()).parse((await api.get(`/users/?after_id=${userId - 1}&limit=1`)).body)
    expect(listed).toEqual(user.body)
    const updated = await api.put(`/products/${productId}`, sample.product)
    expect(WithReviews.parse(updated.body).reviews).toEqual(kept)
    const deleted = await api.delete(`/products/${productId}`)
    expect(deleted.body).toEqual(updated.body)
    expect(deleted.headers.get('Link')).toBe(`</reviews/products/${productId}?skip=5>; rel="more"`)
    expect((await api.get(last)).status).toBe(404)
  })

  test('a nested array always shows its first item, however heavy it is', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const heavy = { ...sample.product, description: '水'.repeat(349_000) }
    const path = `/products/${categoryId}/products`
    const ids = await createMany(api, '/products/', Array(4).fill({ ...heavy, category_id: categoryId }))
    const shownOf = async () => {
      const answer = await api.get(`/categories/${categoryId}`)
      return { ids: embeddedIds(answer.body, 'products'), link: answer.headers.get('Link') }
    }
    expect(await shownOf()).toEqual({ ids: ids.slice(0, 3), link: `<${path}?after_id=${ids[2]}>; rel="more"` })
    // With its id, it is heavier than the largest body.
    const room = ITEMS_MAX_CHARACTERS - JSON.stringify({ ...heavy, description: '' }).length
    expect((await api.put(`/products/${ids[0]}`, { ...heavy, description: 'x'.repeat(room) })).status).toBe(200)
    expect(await shownOf()).toEqual({ ids: ids.slice(0, 1), link: `<${path}?after_id=${ids[0]}>; rel="more"` })
    expect(idsOf(await api.get(`${path}?after_id=${ids[0]}`))).toEqual(ids.slice(1))
  })

  test('a nested array that was cut does not shorten those of the items around it', async () => {
    const userId = await api.create('/users/', sample.user)
    const productIds = await createMany(api, '/products/', Array(4).fill(sample.product))
    const counts = [2, PAGE_ITEMS + 40, 0, 3]
    for (const [index, productId] of productIds.entries()) {
      await createMany(api, '/reviews/', Array(counts[index] ?? 0).fill(sample.review(productId, userId)))
    }
    const { body } = await api.get(`/products/?after_id=${(productIds[0] ?? 0) - 1}`)
    const products = z.array(z.unknown()).parse(body)
    expect(products.map(product => embeddedIds(product, 'reviews').length)).toEqual([2, PAGE_ITEMS, 0, 3])
  })
})
