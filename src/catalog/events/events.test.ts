import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { EventFollower } from '../../../test/harness/catalog/follower.ts'
import { shelf } from '../../../test/harness/catalog/resources.ts'
import { type Client, client } from '../../../test/harness/client.ts'
import { ENGINES, type Engine } from '../../../test/harness/engines.ts'
import { sample } from '../../../test/harness/samples.ts'
import { run, type Service, startService } from '../../../test/harness/service.ts'

setDefaultTimeout(120_000)

const QUIET = ['--access-log', 'off']
const NDJSON = { 'Content-Type': 'application/x-ndjson' }

/** Two processes on one database. */
interface Shop extends AsyncDisposable {
  readonly url: string
  readonly one: Service
  readonly other: Service
  readonly api: Client
}

async function open(engine: Engine, flags: readonly string[] = []): Promise<Shop> {
  const all = new AsyncDisposableStack()
  const { url } = all.use(await engine.freshDatabase())
  const one = all.use(await startService(url, { flags: [...QUIET, ...flags] }))
  const other = all.use(await startService(url, { flags: [...QUIET, ...flags] }))
  return { url, one, other, api: client(() => one.address), [Symbol.asyncDispose]: () => all.disposeAsync() }
}

for (const engine of ENGINES) {
  describe(`on ${engine.name}`, () => {
    test('each change is an event with the short members of what changed, in the same bytes on each process', async () => {
      await using shop = await open(engine)
      const { api } = shop
      await using here = await EventFollower.at(shop.one.address)
      await using there = await EventFollower.at(shop.other.address)
      expect(here.frames[0]).toMatchObject({ event: 'ready', data: { type: 'ready', data: { resumed: false } } })
      await shelf(api)
      await api.create('/products/', { ...sample.product, name: 'A "quoted" näme 🎈', price: 1e-7 })
      await api.put('/products/1', { ...sample.product, price: 5 })
      await api.put('/products/1', { ...sample.product, price: 5 })
      await api.patch('/reviews/1', { ...sample.review(2, 1), rating: 2 })
      await api.send('/reviews/', {
        method: 'POST',
        body: [sample.review(1, 1), sample.review(2, 1)].map(review => JSON.stringify(review)).join('\n'),
        headers: NDJSON,
      })
      const lines = { input: [70, 9].map(id => JSON.stringify({ ...sample.category, id })).join('\n') }
      const imported = ['import', '--database', shop.url, '--resource', 'categories', '--format', 'ndjson', '-']
      expect((await run(imported, lines)).status).toBe(0)
      // None of these changes anything.
      await api.post('/products/', { ...sample.product, price: 0 })
      await api.post('/reviews/', sample.review(1, 99))
      await api.patch('/reviews/1', sample.review(99, 1))
      await api.delete('/users/99')
      for (const path of ['/categories/1', '/reviews/2', '/users/1', '/products/2']) await api.delete(path)

      const events = await here.count(15)
      const name = sample.product.name
      expect(events.map(({ event, data }) => [event, data?.subject, data?.data])).toEqual(
        [
          ['category.created', '/categories/1', { id: 1, name: sample.category.name }],
          ['product.created', '/products/1', { id: 1, name, price: sample.product.price, category_id: 1 }],
          ['user.created', '/users/1', { id: 1 }],
          ['review.created', '/reviews/1', { id: 1, product_id: 1, user_id: 1, rating: sample.review(1, 1).rating }],
          ['product.created', '/products/2', { id: 2, name: 'A "quoted" näme 🎈', price: 1e-7, category_id: null }],
          ['product.updated', '/products/1', { id: 1, name, price: 5, category_id: 1 }],
          ['product.updated', '/products/1', { id: 1, name, price: 5, category_id: 1 }],
          ['review.updated', '/reviews/1', { id: 1, product_id: 2, user_id: 1, rating: 2, from_product_id: 1 }],
          ['reviews.imported', '/reviews/', { count: 2, first_id: 2, last_id: 3 }],
          ['categories.imported', '/categories/', { count: 2, first_id: 9, last_id: 70 }],
          ['category.deleted', '/categories/1', { id: 1 }],
          ['review.deleted', '/reviews/2', { id: 2, product_id: 1, user_id: 1, rating: sample.review(1, 1).rating }],
          ['reviews.deleted', '/reviews/', { user_id: 1, count: 2, product_ids: [2] }],
          ['user.deleted', '/users/1', { id: 1 }],
          ['product.deleted', '/products/2', { id: 2 }],
        ].slice(0, 15) as unknown as typeof events,
      )
      await there.count(15)
      expect(there.text.slice(there.text.indexOf('category.created'))).toBe(
        here.text.slice(here.text.indexOf('category.created')),
      )
    })
  })
}
