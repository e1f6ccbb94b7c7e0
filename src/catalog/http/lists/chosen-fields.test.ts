import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import { lines, NDJSON } from '../../../../test/harness/catalog/keyed.ts'
import { createAll } from '../../../../test/harness/catalog/list-pages.ts'
import { shelf } from '../../../../test/harness/catalog/resources.ts'
import { type Client, client } from '../../../../test/harness/client.ts'
import { onEachEngine, withEachEngine } from '../../../../test/harness/contract.ts'
import { sample } from '../../../../test/harness/samples.ts'
import { startService } from '../../../../test/harness/service.ts'

setDefaultTimeout(120_000)

const PASSWORD_MASK = '**********'

const Members = z.record(z.string(), z.unknown())

onEachEngine('chosen fields', api => {
  test('fields gives exactly these members, in the order of the description, on lists and single reads', async () => {
    const { productId, userId, reviewId, categoryId } = await shelf(api)
    const orders: Readonly<Record<string, readonly string[]>> = {
      products: ['id', 'name', 'description', 'price', 'reviews', 'category_id', 'rating', 'highlights'],
      categories: ['id', 'name', 'description', 'products'],
      users: [
        ...['id', 'name', 'email', 'avatar', 'password', 'is_active', 'is_admin', 'is_banned', 'is_blocked'],
        ...['is_deleted', 'is_suspended', 'is_verified', 'reviews'],
      ],
      reviews: ['id', 'product_id', 'user_id', 'rating', 'comment', 'user', 'product'],
    }
    const ids: Readonly<Record<string, number>> = {
      products: productId,
      categories: categoryId,
      users: userId,
      reviews: reviewId,
    }
    for (const [resource, members] of Object.entries(orders)) {
      const id = ids[resource] ?? 0
      const further = resource === 'products' ? ',category_id,rating,highlights' : ''
      const whole = await shown(api, `/${resource}/${id}?fields=*${further}`)
      expect(Object.keys(whole), resource).toEqual([...members])
      for (const list of [...members.map(member => [member]), [...members].reverse().filter((_, at) => at % 2 === 0)]) {
        const expected = Object.fromEntries(
          members.filter(name => list.includes(name)).map(name => [name, whole[name]]),
        )
        for (const path of [`/${resource}/${id}?`, `/${resource}/?after_id=${id - 1}&limit=1&`]) {
          const one = await shown(api, `${path}fields=${list.join()}`)
          expect(JSON.stringify(one), `${path}${list}`).toBe(JSON.stringify(expected))
        }
      }
    }
  })

  test('all lists cut down their items', async () => {
    const { productId, userId, reviewId, categoryId } = await shelf(api)
    const rows: readonly (readonly [path: string, expected: object])[] = [
      [`/products/${categoryId}/products?fields=price,name`, { name: 'Spade', price: 34.5 }],
      [`/products/${categoryId}/products?fields=category_id&after_id=0`, { category_id: categoryId }],
      [`/reviews/products/${productId}?fields=rating&sort=-rating`, { rating: 4 }],
      [`/reviews/users/${userId}?fields=id`, { id: reviewId }],
      [
        `/reviews/products/${productId}/users/${userId}?fields=id,id&fields=comment`,
        { id: reviewId, comment: 'Digs well' },
      ],
      [`/products/?id=${productId}&fields=name`, { name: 'Spade' }],
    ]
    for (const [path, expected] of rows) expect((await api.get(path)).body, path).toEqual([expected])
  })

  test('* stands for all specified members, and is the answer without fields', async () => {
    const { productId, userId, reviewId, categoryId } = await shelf(api)
    for (const path of [
      `/products/${productId}`,
      `/categories/${categoryId}`,
      `/users/${userId}`,
      `/reviews/${reviewId}`,
    ]) {
      const plain = await api.get(path)
      for (const fields of ['*', '*,id', 'id,*,id']) {
        expect(JSON.stringify((await api.get(`${path}?fields=${fields}`)).body), path).toBe(JSON.stringify(plain.body))
      }
    }
  })

  test('a product has its category, rating and highlights only by name', async () => {
    const { productId, userId, categoryId } = await shelf(api)
    await api.create('/reviews/', { ...sample.review(productId, userId), rating: 1 })
    const further = 'category_id,rating,highlights'
    expect(await shown(api, `/products/${productId}?fields=${further}`)).toEqual({
      category_id: categoryId,
      rating: { average: 2.5, count: 2, histogram: [1, 0, 0, 1, 0], score: 20 / 7 },
      highlights: null,
    })
    const unsold = await api.create('/products/', sample.product)
    expect(await shown(api, `/products/${unsold}?fields=${further}`)).toEqual({
      category_id: null,
      rating: { average: null, count: 0, histogram: [0, 0, 0, 0, 0], score: 0 },
      highlights: null,
    })
    expect(await shown(api, `/products/?id=${productId}&q=ash&fields=highlights`)).toEqual({
      highlights: {
        name: [{ text: 'Spade', match: false }],
        description: [
          { text: 'Steel, with an ', match: false },
          { text: 'ash', match: true },
          { text: ' handle', match: false },
        ],
      },
    })
    expect(Object.keys(await shown(api, `/products/?id=${productId}&q=ash&fields=highlights,rating,price`))).toEqual([
      ...['price', 'rating', 'highlights'],
    ])
  })

  test('a password is masked, chosen or not', async () => {
    const { userId } = await shelf(api)
    expect(await shown(api, `/users/${userId}?fields=password`)).toEqual({ password: PASSWORD_MASK })
  })

  test('a user and a product within a review have their ids, whatever else is chosen', async () => {
    const { productId, userId, reviewId } = await shelf(api)
    const whole = await shown(api, `/reviews/${reviewId}`)
    expect(whole.user).toMatchObject({ id: userId })
    expect(await shown(api, `/reviews/${reviewId}?fields=user`)).toEqual({ user: whole.user })
    expect(await shown(api, `/reviews/products/${productId}?fields=product`)).toEqual({ product: whole.product })
  })

  test('without its array, a resource has no link to more of it', async () => {
    const { productId, userId, categoryId } = await shelf(api)
    await createAll(api, '/reviews/', 100, () => sample.review(productId, userId))
    await createAll(api, `/products/${categoryId}/products`, 100, () => sample.product)
    const link = async (path: string) => (await api.get(path)).headers.get('Link')
    for (const path of [`/products/${productId}`, `/users/${userId}`, `/categories/${categoryId}`]) {
      expect(await link(path), path).toContain('rel="more"')
      expect(await link(`${path}?fields=*`), path).toBe(await link(path))
      expect(await link(`${path}?fields=id,name`), path).toBeNull()
    }
    expect(await link(`/products/${productId}?fields=reviews`)).toContain('rel="more"')
    expect((await shown(api, `/products/${productId}?fields=rating`)).rating).toMatchObject({ count: 101 })
  })

  test('fields hold for NDJSON, and for lists that are sent in pieces', async () => {
    const category = await api.create('/categories/', sample.category)
    const inCategory = await createAll(api, `/products/${category}/products`, 3, () => sample.product)
    const headers = { 'Content-Type': NDJSON }
    const many = lines(...Array.from({ length: 250 }, (_, index) => ({ ...sample.product, price: index + 1 })))
    expect((await api.send('/products/', { method: 'POST', headers, body: many })).status).toBe(200)
    const fields = 'fields=price,category_id,rating'
    const keys = ['price', 'category_id', 'rating']
    for (const path of [`/products/?limit=100000&${fields}`, `/products/?limit=1000&sort=-price&${fields}`]) {
      const { body } = await api.get(path)
      const items = z.array(Members).parse(body)
      expect(items.length, path).toBeGreaterThan(250)
      for (const item of items) expect(Object.keys(item), path).toEqual(keys)
      const asLines = await api.get(path, { Accept: NDJSON })
      expect(String(asLines.body), path).toBe(lines(...items))
    }
    const { body } = await api.get(`/products/${category}/products?${fields},id`)
    expect(
      z
        .array(Members)
        .parse(body)
        .map(({ id, category_id }) => [id, category_id]),
    ).toEqual(inCategory.map(id => [id, category]))
  })

  test('the tag of chosen members is their own, and can be written with', async () => {
    const { productId } = await shelf(api)
    const whole = await api.get(`/products/${productId}`)
    const chosen = await api.get(`/products/${productId}?fields=name`)
    const tag = chosen.headers.get('ETag') ?? ''
    expect(tag).not.toBe(whole.headers.get('ETag') ?? '')
    expect((await api.get(`/products/${productId}?fields=name`, { 'If-None-Match': tag })).status).toBe(304)
    expect((await api.get(`/products/${productId}?fields=price`, { 'If-None-Match': tag })).status).toBe(200)
    const change = (ifMatch: string) =>
      api.send(`/products/${productId}`, {
        method: 'PUT',
        headers: { 'Content-Type': 'application/json', 'If-Match': ifMatch },
        body: JSON.stringify({ ...sample.product, name: 'Shovel' }),
      })
    expect((await change(tag)).status).toBe(200)
    expect((await change(tag)).status).toBe(412)
    expect(await shown(api, `/products/${productId}?fields=name`)).toEqual({ name: 'Shovel' })
  })

  test('long texts that are not chosen do not make a list a long one, which has no tag', async () => {
    const description = 'a'.repeat(600_000)
    const ids: number[] = []
    for (let count = 0; count < 3; count += 1) {
      ids.push(await api.create('/products/', { ...sample.product, description }))
    }
    const list = `/products/?id=${ids.join()}`
    expect((await api.get(list)).headers.get('ETag')).toBeNull()
    expect((await api.get(`${list}&fields=id,description`)).headers.get('ETag')).toBeNull()
    for (const fields of ['id,price', 'name,reviews', 'rating']) {
      const { headers, body } = await api.get(`${list}&fields=${fields}`)
      expect(headers.get('ETag'), fields).not.toBeNull()
      expect(body, fields).toBeArrayOfSize(ids.length)
    }
    for (const id of ids) await api.delete(`/products/${id}`)
  })

  test('a missing resource or parent is 404, whatever is chosen', async () => {
    for (const path of ['/products/4711', '/categories/4711', '/users/4711', '/reviews/4711']) {
      expect((await api.get(`${path}?fields=id`)).status, path).toBe(404)
    }
    expect((await api.get('/products/4711/products?fields=id')).body).toEqual({ detail: 'Category not found' })
  })

  test('chosen members are never stale: what they show changes or goes with other rows', async () => {
    const { productId, userId, reviewId, categoryId } = await shelf(api)
    const paths = {
      category: `/products/${productId}?fields=category_id`,
      inList: `/products/?id=${productId}&fields=category_id`,
      rating: `/products/${productId}?fields=rating`,
      comment: `/reviews/${reviewId}?fields=comment`,
      comments: `/reviews/users/${userId}?fields=comment`,
    }
    const readTwice = async () => {
      for (const path of [...Object.values(paths), ...Object.values(paths)]) await api.get(path)
    }
    await readTwice()
    await api.delete(`/categories/${categoryId}`)
    expect(await shown(api, paths.category)).toEqual({ category_id: null })
    expect(await shown(api, paths.inList)).toEqual({ category_id: null })

    await readTwice()
    await api.patch(`/reviews/${reviewId}`, { ...sample.review(productId, userId), rating: 1, comment: 'Broke' })
    expect((await shown(api, paths.rating)).rating).toMatchObject({ average: 1 })
    expect(await shown(api, paths.comment)).toEqual({ comment: 'Broke' })
    expect(await shown(api, paths.comments)).toEqual({ comment: 'Broke' })

    await readTwice()
    await api.delete(`/products/${productId}`)
    expect((await api.get(paths.comment)).status).toBe(404)
    expect((await api.get(paths.comments)).body).toEqual([])
    expect((await api.get(paths.rating)).status).toBe(404)

    const other = await shelf(api)
    const review = `/reviews/${other.reviewId}?fields=rating`
    const rating = `/products/${other.productId}?fields=rating`
    for (const path of [review, rating, review, rating]) await api.get(path)
    await api.delete(`/users/${other.userId}`)
    expect((await api.get(review)).status).toBe(404)
    expect((await shown(api, rating)).rating).toMatchObject({ count: 0 })
  })

  test('any number of different choices can be read in turn', async () => {
    const { productId } = await shelf(api)
    const whole = await shown(api, `/products/${productId}?fields=*,category_id,rating,highlights`)
    const names = Object.keys(whole)
    for (let bits = 1; bits < 2 ** names.length; bits += 5) {
      const chosen = names.filter((_, at) => bits & (2 ** at))
      const expected = Object.fromEntries(chosen.map(name => [name, whole[name]]))
      expect(await shown(api, `/products/${productId}?fields=${chosen}`), chosen.join()).toEqual(expected)
    }
  })
})

withEachEngine('fields without reviews', engine => {
  const open = new AsyncDisposableStack()
  let url = ''
  let address = ''
  beforeAll(async () => {
    ;({ url } = open.use(await engine.freshDatabase()))
    ;({ address } = open.use(await startService(url, { flags: ['--access-log', 'off', '--cache-bytes', '0'] })))
  })
  afterAll(() => open.disposeAsync())

  test('no reviews are read: products are shown even if these cannot be', async () => {
    const api = client(() => address)
    const { productId } = await shelf(api)
    const chosen = 'fields=id,name,price,category_id,rating'
    const paths = [
      `/products/${productId}?${chosen}`,
      `/products/?${chosen}`,
      `/products/?q=spade&sort=-rating&${chosen}`,
    ]
    await Promise.all(paths.map(path => api.get(path)))
    await engine.write(url, 'ALTER TABLE reviews RENAME TO reviews_away')
    try {
      for (const path of paths) expect((await api.get(path)).status, path).toBe(200)
      expect((await api.get(`/products/${productId}?fields=reviews`)).status).toBe(500)
    } finally {
      await engine.write(url, 'ALTER TABLE reviews_away RENAME TO reviews')
    }
    expect((await api.get(`/products/${productId}`)).status).toBe(200)
  })
})

/** A resource, or the only item of a list. */
async function shown(api: Client, path: string): Promise<Readonly<Record<string, unknown>>> {
  const { status, body } = await api.get(path)
  expect(status, path).toBe(200)
  if (Array.isArray(body)) expect(body, path).toHaveLength(1)
  return Members.parse(Array.isArray(body) ? body[0] : body)
}
