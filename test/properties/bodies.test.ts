import { expect, setDefaultTimeout, test } from 'bun:test'
import fc from 'fast-check'
import { z } from 'zod'
import { campaign, type Effort } from '../harness/campaign.ts'
import type { Answer, Client } from '../harness/client.ts'
import { onEachEngine } from '../harness/contract.ts'
import { sample } from '../harness/samples.ts'
import { reviewOf, type Shape, shapes, validBody } from './bodies.ts'

/** fast-check shrinks a failure before it reports it, with many more requests. */
setDefaultTimeout(120_000)

/** Each password hash takes time and memory. */
const USER_RUNS = 8

const WithId = z.object({ id: z.int() })
const List = z.array(z.unknown())

const MASK = '**********'

onEachEngine('valid bodies', api => {
  campaign('any valid category comes back equal, with no products, and reads back the same', async effort => {
    await comesBack(api, '/categories/', shapes.category, fields => ({ ...fields, products: [] }), effort.runs(20))
  })

  campaign(
    'any valid product comes back equal to the last bit of its price, with no reviews, and reads back the same',
    async effort => {
      await comesBack(api, '/products/', shapes.product, fields => ({ ...fields, reviews: [] }), effort.runs(30))
    },
  )

  test('any valid product of a category comes back equal, and is the last in the list of that category', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const path = `/products/${categoryId}/products`
    const property = fc.asyncProperty(validBody(shapes.product), async ({ json, fields }) => {
      const created = await send(api, 'POST', path, json)
      expect(created).toMatchObject({ status: 200, body: { ...fields, reviews: [] } })
      expect(List.parse((await api.get(path)).body).at(-1)).toEqual(created.body)
    })
    await fc.assert(property, { numRuns: 15 })
  })

  campaign(
    'any valid review comes back equal, with its user and its product, and reads back the same',
    async effort => {
      const productId = await api.create('/products/', sample.product)
      const userId = await api.create('/users/', sample.user)
      const user = { id: userId, name: sample.user.name, avatar: sample.user.avatar }
      const product = { id: productId, ...sample.product }
      const shape = reviewOf(productId, userId)
      await comesBack(api, '/reviews/', shape, fields => ({ ...fields, user, product }), effort.runs(20))
    },
  )

  campaign(
    'any valid user comes back equal, with its flags, a masked password and no reviews, and reads back the same',
    async effort => {
      const answer = (fields: object) => ({ ...fields, password: MASK, reviews: [] })
      await comesBack(api, '/users/', shapes.user, answer, effort.runs(USER_RUNS))
    },
  )

  campaign('any valid update replaces everything that the one before it held', async effort => {
    const id = await api.create('/products/', sample.product)
    const property = fc.asyncProperty(validBody(shapes.product), async ({ json, fields }) => {
      const updated = await send(api, 'PUT', `/products/${id}`, json)
      expect(updated).toMatchObject({ status: 200, body: { id, ...fields, reviews: [] } })
      expect((await api.get(`/products/${id}`)).body).toEqual(updated.body)
    })
    await fc.assert(property, effort.runs(20))
  })
})

async function comesBack(
  api: Client,
  path: string,
  shape: Shape,
  answerTo: (fields: Readonly<Record<string, unknown>>) => object,
  runs: ReturnType<Effort['runs']>,
): Promise<void> {
  const property = fc.asyncProperty(validBody(shape), async ({ json, fields }) => {
    const created = await send(api, 'POST', path, json)
    expect(created.status, JSON.stringify(created.body)).toBe(200)
    const { id } = WithId.parse(created.body)
    expect(created.body).toEqual({ id: expect.any(Number), ...answerTo(fields) })
    expect((await api.get(`${path}${id}`)).body).toEqual(created.body)
  })
  await fc.assert(property, runs)
}

function send(api: Client, method: string, path: string, body: string): Promise<Answer> {
  return api.send(path, { method, body, headers: { 'Content-Type': 'application/json' } })
}
