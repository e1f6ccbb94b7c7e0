import { Database } from 'bun:sqlite'
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { idOf, listOf, priceOf, readOften, shelf } from '../../../../test/harness/catalog/resources.ts'
import { twoProcesses } from '../../../../test/harness/catalog/two-processes.ts'
import type { Client } from '../../../../test/harness/client.ts'
import { sample } from '../../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

describe('two processes that serve one database', () => {
  const { one, other, file } = twoProcesses()

  test('a cached resource is shown as another process has changed it', async () => {
    for (const [writer, reader] of bothWays()) {
      const { categoryId: category, productId: product, userId: user, reviewId: review } = await shelf(reader)
      const productPath = `/products/${product}`
      await readOften(reader, [`/categories/${category}`, productPath, `/users/${user}`, `/reviews/${review}`])

      await writer.put(`/categories/${category}`, { name: 'Kitchen', description: 'All for the kitchen' })
      expect((await reader.get(`/categories/${category}`)).body).toMatchObject({ name: 'Kitchen' })

      await writer.put(productPath, { ...sample.product, name: 'Ladle', price: 7 })
      expect((await reader.get(productPath)).body).toMatchObject({ name: 'Ladle', price: 7 })

      await writer.patch(`/users/${user}`, { ...sample.user, name: 'Grace Hopper', is_banned: 1 })
      expect((await reader.get(`/users/${user}`)).body).toMatchObject({ name: 'Grace Hopper', is_banned: 1 })

      await writer.patch(`/reviews/${review}`, { ...sample.review(product, user), rating: 1 })
      expect((await reader.get(`/reviews/${review}`)).body).toMatchObject({ rating: 1 })
    }
  })

  test('a cached review shows its user and product as another process has changed them', async () => {
    for (const [writer, reader] of bothWays()) {
      const { productId: product, userId: user, reviewId: review } = await shelf(reader)
      const paths = [
        `/reviews/${review}`,
        `/reviews/products/${product}`,
        `/reviews/users/${user}`,
        `/reviews/products/${product}/users/${user}`,
      ]
      await readOften(reader, paths)
      await writer.put(`/products/${product}`, { name: 'Ladle', description: 'Of beech', price: 7 })
      for (const path of paths) {
        expect(first((await reader.get(path)).body), path).toMatchObject({
          product: { id: product, name: 'Ladle', description: 'Of beech', price: 7 },
        })
      }
      await readOften(reader, paths)
      await writer.patch(`/users/${user}`, { ...sample.user, name: 'Grace Hopper', avatar: '/grace.png' })
      for (const path of paths) {
        expect(first((await reader.get(path)).body), path).toMatchObject({
          user: { id: user, name: 'Grace Hopper', avatar: '/grace.png' },
        })
      }
    }
  })

  test('a cached product, user or category shows what another process has added to it', async () => {
    for (const [writer, reader] of bothWays()) {
      const { categoryId: category, productId: product, userId: user, reviewId: review } = await shelf(reader)
      const reviewsOf = async (path: string) => embedded((await reader.get(path)).body, 'reviews')
      const productsOf = async (path: string) => embedded((await reader.get(path)).body, 'products')
      const [ofCategory, ofProduct, ofUser] = [`/categories/${category}`, `/products/${product}`, `/users/${user}`]
      const readAll = () => readOften(reader, [ofCategory, ofProduct, ofUser])

      await readAll()
      const added = await writer.create('/reviews/', { ...sample.review(product, user), comment: 'Second thoughts' })
      const [shownFirst, shownAdded] = [
        { id: review, ...sample.review(product, user) },
        { id: added, ...sample.review(product, user), comment: 'Second thoughts' },
      ]
      expect(await reviewsOf(ofProduct)).toEqual([shownFirst, shownAdded])
      expect(await reviewsOf(ofUser)).toEqual([shownFirst, shownAdded])

      await readAll()
      await writer.patch(`/reviews/${added}`, { ...sample.review(product, user), rating: 2, comment: 'Changed' })
      const shownChanged = { ...shownAdded, rating: 2, comment: 'Changed' }
      expect(await reviewsOf(ofProduct)).toEqual([shownFirst, shownChanged])
      expect(await reviewsOf(ofUser)).toEqual([shownFirst, shownChanged])

      await readAll()
      await writer.delete(`/reviews/${review}`)
      expect(await reviewsOf(ofProduct)).toEqual([shownChanged])
      expect(await reviewsOf(ofUser)).toEqual([shownChanged])

      await readAll()
      const shelved = await writer.create(`/products/${category}/products`, { ...sample.product, name: 'Rake' })
      expect(await productsOf(ofCategory)).toEqual([
        { id: product, ...sample.product },
        { id: shelved, ...sample.product, name: 'Rake' },
      ])

      await readAll()
      await writer.put(ofProduct, { ...sample.product, name: 'Ladle' })
      expect(await productsOf(ofCategory)).toEqual([
        { id: product, ...sample.product, name: 'Ladle' },
        { id: shelved, ...sample.product, name: 'Rake' },
      ])

      await readAll()
      await writer.delete(`/products/${shelved}`)
      expect(await productsOf(ofCategory)).toEqual([{ id: product, ...sample.product, name: 'Ladle' }])
    }
  })

  test('a review that another process moves leaves the cached product and user that had it, and joins the new ones', async () => {
    for (const [writer, reader] of bothWays()) {
      const [from, to] = [await shelf(reader), await shelf(reader)]
      const paths = [from, to].flatMap(({ productId, userId }) => [`/products/${productId}`, `/users/${userId}`])
      await readOften(reader, paths)
      await writer.patch(`/reviews/${from.reviewId}`, sample.review(to.productId, to.userId))
      const reviewIds = []
      for (const path of paths) {
        const reviews = embedded((await reader.get(path)).body, 'reviews')
        reviewIds.push(reviews.map(review => idOf(review)))
      }
      const both = [from.reviewId, to.reviewId]
      expect(reviewIds).toEqual([[], [], both, both])
    }
  })

  test('a cached resource that another process deletes is gone at once, with everything that goes with it', async () => {
    for (const [writer, reader] of bothWays()) {
      const withReview = await shelf(reader)
      const another = await shelf(reader)
      const kept = await shelf(reader)
      const review = await reader.create('/reviews/', sample.review(kept.productId, another.userId))
      const [category, product, user] = [
        `/categories/${kept.categoryId}`,
        `/products/${withReview.productId}`,
        `/users/${another.userId}`,
      ]
      const gone = [product, `/reviews/${withReview.reviewId}`, `/reviews/products/${withReview.productId}`]
      await readOften(reader, [...gone, `/users/${withReview.userId}`, `/categories/${withReview.categoryId}`])
      await writer.delete(product)
      for (const path of gone) expect((await reader.get(path)).status, path).toBe(404)
      expect(embedded((await reader.get(`/users/${withReview.userId}`)).body, 'reviews')).toEqual([])
      expect(embedded((await reader.get(`/categories/${withReview.categoryId}`)).body, 'products')).toEqual([])

      const goneToo = [user, `/reviews/${another.reviewId}`, `/reviews/${review}`, `/reviews/users/${another.userId}`]
      await readOften(reader, [...goneToo, `/products/${kept.productId}`])
      await writer.delete(user)
      for (const path of goneToo) expect((await reader.get(path)).status, path).toBe(404)
      expect(embedded((await reader.get(`/products/${kept.productId}`)).body, 'reviews')).toHaveLength(1)

      await readOften(reader, [category, `/products/${kept.categoryId}/products`])
      await writer.delete(category)
      expect((await reader.get(category)).status).toBe(404)
      expect((await reader.get(`/products/${kept.categoryId}/products`)).status).toBe(404)
      expect((await reader.get(`/products/${kept.productId}`)).status).toBe(200)
    }
  })

  test('a resource that was 404 is found once another process creates it', async () => {
    for (const [writer, reader] of bothWays()) {
      for (const [path, body] of [
        ['/categories/', sample.category],
        ['/products/', sample.product],
        ['/users/', sample.user],
      ] as const) {
        const next = `${path}${(await writer.create(path, body)) + 1}`
        await readOften(reader, [next])
        expect((await reader.get(next)).status, next).toBe(404)
        expect(`${path}${await writer.create(path, body)}`).toBe(next)
        expect((await reader.get(next)).status, next).toBe(200)
      }
    }
  })

  test('lists that were read before are as another process has left them', async () => {
    for (const [writer, reader] of bothWays()) {
      const { categoryId: category, productId: product, userId: user, reviewId: review } = await shelf(reader)
      const lists = {
        categories: `/categories/?skip=0&limit=1000000`,
        products: `/products/?limit=1000000`,
        users: `/users/?limit=1000000`,
        reviews: `/reviews/?limit=1000000`,
        inCategory: `/products/${category}/products`,
        ofProduct: `/reviews/products/${product}?limit=5`,
        ofUser: `/reviews/users/${user}?limit=5`,
        ofBoth: `/reviews/products/${product}/users/${user}?limit=5`,
        page: `/products/?after_id=${product - 1}&limit=3`,
      }
      const item = async (path: string, id: number) => (await listOf(reader, path)).find(found => found.id === id)
      await readOften(reader, Object.values(lists))

      const added = await writer.create('/reviews/', sample.review(product, user))
      for (const path of [lists.reviews, lists.ofProduct, lists.ofUser, lists.ofBoth]) {
        expect(await item(path, added), path).toMatchObject({ id: added, rating: sample.review(0, 0).rating })
      }
      for (const path of [lists.products, lists.inCategory, lists.page]) {
        expect(await item(path, product), path).toMatchObject({ reviews: [{ id: review }, { id: added }] })
      }
      expect(await item(lists.users, user)).toMatchObject({ reviews: [{ id: review }, { id: added }] })

      await readOften(reader, Object.values(lists))
      await writer.put(`/products/${product}`, { ...sample.product, name: 'Ladle' })
      for (const path of [lists.products, lists.inCategory, lists.page]) {
        expect(await item(path, product), path).toMatchObject({ name: 'Ladle' })
      }
      expect(await item(lists.categories, category)).toMatchObject({ products: [{ id: product, name: 'Ladle' }] })
      for (const path of [lists.reviews, lists.ofProduct, lists.ofUser, lists.ofBoth]) {
        expect(await item(path, review), path).toMatchObject({ product: { name: 'Ladle' } })
      }

      await readOften(reader, Object.values(lists))
      await writer.delete(`/reviews/${review}`)
      for (const path of [lists.reviews, lists.ofProduct, lists.ofUser, lists.ofBoth]) {
        expect(await item(path, review), path).toBe(undefined)
      }
      expect(await item(lists.products, product)).toMatchObject({ reviews: [{ id: added }] })

      await readOften(reader, Object.values(lists))
      await writer.delete(`/products/${product}`)
      for (const path of [lists.products, lists.inCategory, lists.page]) {
        expect(await item(path, product), path).toBe(undefined)
      }
      expect(await item(lists.reviews, added)).toBe(undefined)
      expect(await item(lists.users, user)).toMatchObject({ reviews: [] })
      expect(await item(lists.categories, category)).toMatchObject({ products: [] })
    }
  })

  test('counts that were read before are as another process has left them', async () => {
    for (const [writer, reader] of bothWays()) {
      const { productId: product } = await shelf(reader)
      const countOf = async (kind: string) =>
        Number((await reader.get(`/${kind}/?limit=1&count=1000000`)).headers.get('X-Total-Count'))
      const counts = async () => [await countOf('products'), await countOf('reviews')]
      const [products = 0, reviews = 0] = await counts()
      await writer.delete(`/products/${product}`)
      expect(await counts()).toEqual([products - 1, reviews - 1])
      const body = `${JSON.stringify(sample.product)}\n`.repeat(2)
      await writer.send('/products/', { method: 'POST', headers: { 'Content-Type': 'application/x-ndjson' }, body })
      expect(await counts()).toEqual([products + 1, reviews - 1])
    }
  })

  test('lists by values that were read before have what another process has changed, in its place', async () => {
    for (const [writer, reader] of bothWays()) {
      const { categoryId: category, productId: first, userId: user, reviewId: review } = await shelf(reader)
      const second = await reader.create('/products/', { ...sample.product, price: 1 })
      const products = `/products/?id=${first},${second}`
      const lists = {
        best: `${products}&sort=-rating`,
        praised: `${products}&min_rating=5`,
        cheapest: `${products}&sort=price`,
        dear: `${products}&min_price=99`,
        zebras: `${products}&q=zebra`,
        outside: `${products}&category_id=0`,
        bad: `/reviews/products/${first}?rating=1`,
      }
      const shown = async () => {
        await readOften(reader, Object.values(lists))
        const items = await Promise.all(Object.values(lists).map(path => listOf(reader, path)))
        return Object.fromEntries(Object.keys(lists).map((name, place) => [name, items[place]?.map(({ id }) => id)]))
      }
      const before = { best: [first, second], praised: [], cheapest: [second, first], dear: [], zebras: [], bad: [] }
      expect(await shown()).toEqual({ ...before, outside: [second] })
      for (const _ of [1, 2]) await writer.create('/reviews/', { ...sample.review(second, user), rating: 5 })
      const rated = { ...before, best: [second, first], praised: [second] }
      expect(await shown()).toEqual({ ...rated, outside: [second] })
      await writer.put(`/products/${second}`, { ...sample.product, name: 'Zebra', price: 99 })
      const renamed = { ...rated, cheapest: [first, second], dear: [second], zebras: [second] }
      expect(await shown()).toEqual({ ...renamed, outside: [second] })
      await writer.patch(`/reviews/${review}`, { ...sample.review(first, user), rating: 1 })
      expect(await shown()).toEqual({ ...renamed, outside: [second], bad: [review] })
      await writer.delete(`/categories/${category}`)
      expect(await shown()).toEqual({ ...renamed, outside: [first, second], bad: [review] })
    }
  })

  test('a page has a next link as soon as another process adds an item, and none once the item is gone', async () => {
    for (const [writer, reader] of bothWays()) {
      const last = await reader.create('/products/', sample.product)
      const page = `/products/?after_id=${last - 1}&limit=1`
      const link = async () => (await reader.get(page)).headers.get('Link')
      await readOften(reader, [page])
      expect(await link()).toBe(null)
      const more = await writer.create('/products/', sample.product)
      expect(await link()).toContain('rel="next"')
      await readOften(reader, [page])
      await writer.delete(`/products/${more}`)
      expect(await link()).toBe(null)
    }
  })

  test('a cached nested array has a link as soon as another process adds more than it can show', async () => {
    for (const [writer, reader] of bothWays()) {
      const { productId: product, userId: user } = await shelf(reader)
      const addOne = () => writer.create('/reviews/', sample.review(product, user))
      await Promise.all(Array.from({ length: 99 }, addOne))
      const path = `/products/${product}`
      await readOften(reader, [path])
      expect((await reader.get(path)).headers.get('Link')).toBe(null)
      const surplus = await addOne()
      const cut = await reader.get(path)
      expect(cut.headers.get('Link')).toContain('rel="more"')
      expect(embedded(cut.body, 'reviews')).toHaveLength(100)
      await readOften(reader, [path])
      await writer.delete(`/reviews/${surplus}`)
      expect((await reader.get(path)).headers.get('Link')).toBe(null)
    }
  })

  test('a refused write through one process changes nothing that the other shows', async () => {
    const { productId: product } = await shelf(one)
    const before = (await other.get(`/products/${product}`)).body
    expect((await one.put(`/products/${product}`, { ...sample.product, price: -1 })).status).toBe(422)
    expect((await one.post('/reviews/', sample.review(product, 0))).status).toBe(404)
    expect((await other.get(`/products/${product}`)).body).toEqual(before)
  })

  test('a resource that another program changes in the file is shown at once', async () => {
    const product = await one.create('/products/', sample.product)
    await readOften(one, [`/products/${product}`])
    using database = new Database(file())
    database.run('UPDATE products SET price = 99 WHERE id = ?', [product])
    expect(priceOf((await one.get(`/products/${product}`)).body)).toBe(99)
  })

  function bothWays(): (readonly [writer: Client, reader: Client])[] {
    return [
      [one, other],
      [other, one],
      [one, one],
    ]
  }
})

/** A list's first item, or a resource itself. */
function first(body: unknown): unknown {
  return Array.isArray(body) ? body[0] : body
}

function embedded(body: unknown, name: 'reviews' | 'products'): unknown[] {
  const array: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined
  if (!Array.isArray(array)) throw new Error(`no ${name} in ${JSON.stringify(body)}`)
  return array
}
