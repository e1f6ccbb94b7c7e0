import { expect, test } from 'bun:test'
import { shelf } from '../../../test/harness/catalog/resources.ts'
import { onEachEngine } from '../../../test/harness/contract.ts'
import { sample } from '../../../test/harness/samples.ts'

onEachEngine('conditional requests', api => {
  async function tagOf(path: string): Promise<string> {
    const { status, headers } = await api.get(path)
    expect(status, path).toBe(200)
    return headers.get('ETag') ?? ''
  }

  function paths({ categoryId, productId, userId, reviewId }: Awaited<ReturnType<typeof shelf>>): string[] {
    return [
      `/categories/${categoryId}`,
      `/products/${productId}`,
      `/reviews/${reviewId}`,
      `/users/${userId}`,
      `/products/${categoryId}/products`,
      `/reviews/products/${productId}`,
      '/products/?limit=5',
    ]
  }

  test('a resource and a list have a strong ETag, the same at each read', async () => {
    for (const path of paths(await shelf(api))) {
      const tag = await tagOf(path)
      expect(tag, path).toMatch(/^"[^"]+"$/)
      expect(await tagOf(path), path).toBe(tag)
      expect((await api.send(path, { method: 'HEAD' })).headers.get('ETag'), path).toBe(tag)
    }
  })

  test('a client that has what it would get is answered 304 without a body', async () => {
    for (const path of paths(await shelf(api))) {
      const tag = await tagOf(path)
      for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
        const { status, headers, body } = await api.get(path, { 'If-None-Match': known })
        expect({ status, body, tag: headers.get('ETag') }, `${path} ${known}`).toEqual({ status: 304, body: '', tag })
        expect(headers.get('X-Request-Id'), path).toBeTruthy()
      }
      expect((await api.get(path, { 'If-None-Match': '"other"' })).status, path).toBe(200)
    }
  })

  test('all but users may be kept by caches that revalidate, with a 304, too', async () => {
    const shown = await shelf(api)
    for (const path of paths(shown)) {
      const expected = path.startsWith('/users/') ? 'no-store' : 'no-cache'
      const { headers } = await api.get(path)
      const unchanged = await api.get(path, { 'If-None-Match': headers.get('ETag') ?? '' })
      expect([headers.get('Cache-Control'), unchanged.headers.get('Cache-Control')], path).toEqual([expected, expected])
    }
  })

  test('a tag changes when anything changes that is shown, and then only there', async () => {
    const shown = await shelf(api)
    const other = await shelf(api)
    const before = {
      product: await tagOf(`/products/${shown.productId}`),
      other: await tagOf(`/products/${other.productId}`),
    }
    await api.patch(`/reviews/${shown.reviewId}`, { ...sample.review(shown.productId, shown.userId), rating: 1 })
    expect(await tagOf(`/products/${shown.productId}`)).not.toBe(before.product)
    expect(await tagOf(`/products/${other.productId}`)).toBe(before.other)
    const listed = await tagOf(`/reviews/products/${shown.productId}`)
    await api.put(`/products/${shown.productId}`, { ...sample.product, name: 'Renamed' })
    expect(await tagOf(`/reviews/products/${shown.productId}`)).not.toBe(listed)
  })

  test('the tag of a list changes when a next page appears, so that no client misses the link', async () => {
    const { productId, userId } = await shelf(api)
    const path = `/reviews/products/${productId}?limit=1`
    const alone = await api.get(path)
    expect(alone.headers.get('Link')).toBeNull()
    await api.create('/reviews/', sample.review(productId, userId))
    const followed = await api.get(path, { 'If-None-Match': alone.headers.get('ETag') ?? '' })
    expect(followed.status).toBe(200)
    expect(followed.headers.get('Link')).toContain('rel="next"')
    expect(followed.body).toEqual(alone.body)
  })

  test('a deleted resource and an absent one have no tag', async () => {
    const { productId: product } = await shelf(api)
    const deleted = await api.delete(`/products/${product}`)
    const absent = await api.get(`/products/${product}`, { 'If-None-Match': '*' })
    expect([deleted.status, absent.status]).toEqual([200, 404])
    for (const { headers } of [deleted, absent]) expect(headers.get('ETag')).toBeNull()
  })
})
