import { expect, test } from 'bun:test'
import { onEachEngine } from '../../../test/contract.ts'
import { sample } from '../../../test/samples.ts'

onEachEngine('products', api => {
  test('a product that is created comes back with its id and no reviews', async () => {
    const created = await api.post('/products/', sample.product)
    expect(created.status).toBe(200)
    expect(created.body).toEqual({ id: expect.any(Number), ...sample.product, reviews: [] })
  })
})
