import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { shelf } from '../../../test/harness/catalog/resources.ts'
import { client } from '../../../test/harness/client.ts'
import { ENGINES } from '../../../test/harness/engines.ts'
import { sample } from '../../../test/harness/samples.ts'
import { run, startService } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import type { Change } from '../../database/change.ts'

setDefaultTimeout(120_000)

for (const engine of ENGINES) {
  describe(`on ${engine.name}`, () => {
    test('each change is logged with its references and what followers are told, and a bulk load for each table, without a feed, too', async () => {
      await using database = await engine.freshDatabase()
      await using service = await startService(database.url, { flags: ['--access-log', 'off', '--events-kept', '0'] })
      const api = client(() => service.address)
      await shelf(api)
      await api.create('/products/', sample.product)
      await api.put('/products/1', { ...sample.product, price: 5 })
      await api.patch('/reviews/1', sample.review(2, 1))
      const keyed = { 'Content-Type': 'application/json', 'Idempotency-Key': '"a first category of its own"' }
      for (const _ of ['first', 'again']) {
        await api.send('/categories/', { method: 'POST', body: JSON.stringify(sample.category), headers: keyed })
      }
      await api.send('/reviews/', {
        method: 'POST',
        body: [sample.review(1, 1), sample.review(2, 1)].map(review => JSON.stringify(review)).join('\n'),
        headers: { 'Content-Type': 'application/x-ndjson' },
      })
      using folder = temporaryFolder()
      const lines = [70, 9].map(id => JSON.stringify({ ...sample.category, id })).join('\n')
      await Bun.write(join(folder.path, 'categories.ndjson'), lines)
      await Bun.write(join(folder.path, 'products.ndjson'), JSON.stringify({ ...sample.product, category_id: 70 }))
      const files = ['products.ndjson', 'categories.ndjson']
      expect((await run(['import', '--database', database.url, ...files], { folder: folder.path })).status).toBe(0)
      // None of these changes anything.
      await api.post('/products/', { ...sample.product, price: 0 })
      await api.post('/reviews/', sample.review(1, 99))
      await api.put('/products/99', sample.product)
      await api.patch('/reviews/1', sample.review(99, 1))
      await api.delete('/users/99')
      for (const path of ['/categories/1', '/products/2', '/users/1']) await api.delete(path)

      const log = await engine.read<{ changes: string | Change[] }>(database.url, 'SELECT changes FROM change_log')
      const changes = log.flatMap(row => (typeof row.changes === 'string' ? JSON.parse(row.changes) : row.changes))
      const { name } = sample.category
      const product = { name: sample.product.name, price: sample.product.price }
      const { rating } = sample.review(1, 1)
      expect(changes).toEqual([
        { table: 'categories', id: 1, before: null, after: {}, values: { name } },
        { table: 'products', id: 1, before: null, after: { category_id: 1 }, values: product },
        { table: 'users', id: 1, before: null, after: {} },
        { table: 'reviews', id: 1, before: null, after: { product_id: 1, user_id: 1 }, values: { rating } },
        { table: 'products', id: 2, before: null, after: { category_id: null }, values: product },
        {
          table: 'products',
          id: 1,
          before: { category_id: 1 },
          after: { category_id: 1 },
          values: { ...product, price: 5 },
        },
        {
          table: 'reviews',
          id: 1,
          before: { product_id: 1, user_id: 1 },
          after: { product_id: 2, user_id: 1 },
          values: { rating },
        },
        { table: 'categories', id: 2, before: null, after: {}, values: { name } },
        { table: 'reviews', count: 2, firstId: 2, lastId: 3 },
        { table: 'categories', count: 2, firstId: 9, lastId: 70 },
        { table: 'products', count: 1, firstId: 3, lastId: 3 },
        { table: 'categories', id: 1, before: {}, after: null, values: { name } },
        { table: 'products', id: 2, before: { category_id: null }, after: null, values: product },
        { table: 'users', id: 1, before: {}, after: null, gone: { count: 1, of: [1] } },
      ])
    })
  })
}
