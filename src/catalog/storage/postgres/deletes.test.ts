import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import { campaign } from '../../../../test/harness/campaign.ts'
import { type Client, client } from '../../../../test/harness/client.ts'
import { connected, createDatabase, type TestDatabase } from '../../../../test/harness/postgres/database.ts'
import { sharedServerUrl } from '../../../../test/harness/postgres/shared-server.ts'
import { sample } from '../../../../test/harness/samples.ts'
import { startService } from '../../../../test/harness/service.ts'
import { until } from '../../../../test/harness/until.ts'

/** A delete returns what it deleted, even if others change it until then. */

setDefaultTimeout(120_000)

const ROUNDS = 12
const CLIENTS = 8

const WithReviews = z.object({ reviews: z.array(z.object({ id: z.int() })) })
const WithProducts = z.object({ products: z.array(z.object({ id: z.int() })) })

const open = new AsyncDisposableStack()
let database: TestDatabase
let nodes: readonly Client[]

beforeAll(async () => {
  database = open.use(await createDatabase(await sharedServerUrl()))
  const services = await Promise.all([1, 2].map(() => startService(database.url, { flags: ['--access-log', 'off'] })))
  for (const service of services) open.use(service)
  nodes = services.map(service => client(() => service.address))
})
afterAll(() => open.disposeAsync())

campaign(
  'deleting a product or a user returns each acknowledged review that was deleted with it',
  async ({ rounds }) => {
    for (const round of rounds(ROUNDS)) {
      const product = await node(round).create('/products/', sample.product)
      const user = await node(round).create('/users/', { ...sample.user, password: '' })
      const path = round % 2 === 0 ? `/products/${product}` : `/users/${user}`
      const { acknowledged, deleted } = await deletedAmidCreates(path, api =>
        api.post('/reviews/', sample.review(product, user)),
      )
      const shown = WithReviews.parse(deleted).reviews.map(({ id }) => id)
      expect(shown, path).toEqual(acknowledged.slice(0, shown.length))
      expect(shown.length, path).toBe(Math.min(acknowledged.length, 100))
    }
  },
)

campaign('deleting a category returns each product acknowledged before', async ({ rounds }) => {
  for (const round of rounds(ROUNDS)) {
    const category = await node(round).create('/categories/', sample.category)
    const { acknowledged, deleted } = await deletedAmidCreates(`/categories/${category}`, api =>
      api.post(`/products/${category}/products`, sample.product),
    )
    const shown = WithProducts.parse(deleted).products.map(({ id }) => id)
    expect(shown).toEqual(acknowledged.slice(0, 100))
  }
})

test('deleting a review returns it even if it is moved to a new product meanwhile', async () => {
  const product = await node(0).create('/products/', sample.product)
  const user = await node(0).create('/users/', sample.user)
  const review = await node(0).create('/reviews/', sample.review(product, user))
  await using sql = connected(database.url)
  await sql.unsafe('BEGIN')
  const [added] = await sql<{ id: number }[]>`
    INSERT INTO products (name, description, price) VALUES ('New', 'New', 1) RETURNING id::float8 AS id`
  await sql`UPDATE reviews SET product_id = ${added?.id ?? 0} WHERE id = ${review}`
  const deleting = node(0).delete(`/reviews/${review}`)
  await until(() => isWaitedFor())
  await sql.unsafe('COMMIT')
  const deleted = await deleting
  // On a machine so slow that the delete was given up, nothing was deleted.
  const answer = deleted.status === 503 ? await node(0).delete(`/reviews/${review}`) : deleted
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({ id: review, product_id: added?.id, product: { id: added?.id, name: 'New' } })
})

/** Lets clients create until the delete is answered; resolves to the ids that they got, in order. */
async function deletedAmidCreates(path: string, create: (api: Client) => Promise<{ status: number; body: unknown }>) {
  const acknowledged: number[] = []
  let isOver = false
  const creating = Array.from({ length: CLIENTS }, async (_, which) => {
    while (!isOver) {
      const { status, body } = await create(node(which))
      if (status !== 200) return
      acknowledged.push(z.object({ id: z.int() }).parse(body).id)
    }
  })
  await until(() => acknowledged.length >= CLIENTS)
  const { status, body } = await node(0).delete(path)
  isOver = true
  await Promise.all(creating)
  expect(status, path).toBe(200)
  return { acknowledged: acknowledged.sort((one, other) => one - other), deleted: body }
}

async function isWaitedFor(): Promise<boolean> {
  await using sql = connected(database.url)
  const waiting = await sql`
    SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  return waiting.length > 0
}

function node(number: number): Client {
  const one = nodes[number % nodes.length]
  if (one === undefined) throw new Error('no node')
  return one
}
