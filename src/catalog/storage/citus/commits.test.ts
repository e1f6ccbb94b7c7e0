import { expect, setDefaultTimeout, test } from 'bun:test'
import type { SQL } from 'bun'
import { EventFollower } from '../../../../test/harness/catalog/follower.ts'
import { type Client, client } from '../../../../test/harness/client.ts'
import { citusUrl, createCitusDatabase } from '../../../../test/harness/postgres/citus.ts'
import { connected } from '../../../../test/harness/postgres/database.ts'
import { sample } from '../../../../test/harness/samples.ts'
import { startService } from '../../../../test/harness/service.ts'
import type { TcpProxy } from '../../../../test/harness/tcp-proxy.ts'
import { until } from '../../../../test/harness/until.ts'

/** The index and followers do not show a transaction that is committed on the coordinator, but not yet on all workers. */

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']

/** More than enough for an event to arrive. */
const SILENCE_MS = 600

/** More than enough for a list to be read, and less than a list may wait for a lock. */
const LIST_MS = 200

const OLD_PRICE = 3
const NEW_PRICE = 70

/** With this text, the coordinator begins the second phase of a commit on a worker. */
const SECOND_PHASE = 'COMMIT PREPARED'

const coordinator = citusUrl() ?? ''

test.skipIf(coordinator === '')(
  'followers and searches learn of a change when every worker has committed it',
  async () => {
    await using shop = await open()
    const { api, id } = shop
    await using otherNode = await startService(shop.url, { flags: FLAGS })
    const other = await productElsewhere(shop)
    await using early = await EventFollower.at(api.address())
    const { writing, held } = await raisePrice(shop)
    // The index can take this change, but not the one before.
    expect((await api.put(`/products/${other}`, { ...sample.product, price: OLD_PRICE })).status).toBe(200)
    const counting = countOf(api, NEW_PRICE)
    await using late = await EventFollower.at(api.address())
    await using elsewhere = await EventFollower.at(otherNode.address)
    await Bun.sleep(SILENCE_MS)
    expect([early.types, late.types, elsewhere.types]).toEqual([[], [], []])
    held.passOn()
    expect((await writing).status).toBe(200)
    expect((await counting).body).toMatchObject({ count: 1 })
    for (const follower of [early, late, elsewhere]) {
      const [event] = await follower.count(1)
      expect(event).toMatchObject({ event: 'product.updated', data: { data: { id, price: NEW_PRICE } } })
    }
    expect((await api.get(`/products/${id}`)).body).toMatchObject({ price: NEW_PRICE })
  },
)

test.skipIf(coordinator === '')(
  'the index loses no change of a worker that is lost between the two phases of a commit',
  async () => {
    await using shop = await open()
    const { api, proxy, sql, id } = shop
    const { writing, held } = await raisePrice(shop)
    proxy.cut()
    held.passOn()
    expect((await writing).status).toBe(200)
    const stored = async () => (await sql<{ price: number }[]>`SELECT price FROM products WHERE id = ${id}`)[0]?.price
    expect(await stored()).toBe(OLD_PRICE)
    expect(await countOf(api, NEW_PRICE)).toMatchObject({
      status: 503,
      body: { detail: 'The search index is catching up' },
    })
    await sql`SELECT recover_prepared_transactions()`
    expect(await stored()).toBe(NEW_PRICE)
    expect((await countOf(api, NEW_PRICE)).body).toMatchObject({ count: 1 })
  },
)

test.skipIf(coordinator === '')('a list has a review once while it is moved to another worker', async () => {
  await using shop = await open()
  const { api, sql, proxy, id } = shop
  const target = await productElsewhere(shop)
  const user = await api.create('/users/', sample.user)
  const review = await api.create('/reviews/', sample.review(id, user))
  const held = proxy.holdBackFrom(SECOND_PHASE)
  const moving = api.patch(`/reviews/${review}`, sample.review(target, user))
  await held.begun
  await until(async () => (await sql`SELECT FROM reviews WHERE id = ${review}`).length === 2)
  const listing = api.get('/reviews/')
  await Bun.sleep(LIST_MS)
  held.passOn()
  expect((await moving).status).toBe(200)
  expect((await listing).body).toMatchObject([{ id: review, product_id: target }])
})

test.skipIf(coordinator === '')('a list has all reviews of a user or none while the user is deleted', async () => {
  await using shop = await open()
  const { api, sql, proxy, id } = shop
  const elsewhere = await productElsewhere(shop)
  const user = await api.create('/users/', sample.user)
  for (const product of [id, elsewhere]) await api.create('/reviews/', sample.review(product, user))
  const held = proxy.holdBackFrom(SECOND_PHASE)
  const deleting = api.delete(`/users/${user}`)
  await held.begun
  await until(async () => (await sql`SELECT FROM reviews`).length === 1)
  const listing = api.get('/reviews/')
  await Bun.sleep(LIST_MS)
  held.passOn()
  expect((await deleting).status).toBe(200)
  expect((await listing).body).toEqual([])
})

/** A shop with a product on a worker behind a proxy, which the index knows. */
async function open() {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await createCitusDatabase(coordinator, { throughProxies: true }))
  const service = opening.use(await startService(database.url, { flags: FLAGS }))
  const sql = opening.use(connected(database.url))
  const api = client(() => service.address)
  const id = await api.create('/products/', { ...sample.product, price: OLD_PRICE })
  expect((await countOf(api, OLD_PRICE)).body).toMatchObject({ count: 1 })
  const proxyAt = (productId: number) => proxyOf(productId, sql, database.proxies)
  const proxy = await proxyAt(id)
  const all = opening.move()
  return { url: database.url, api, sql, proxy, proxyAt, id, [Symbol.asyncDispose]: () => all.disposeAsync() }
}

async function proxyOf(productId: number, sql: SQL, proxies: readonly TcpProxy[]): Promise<TcpProxy> {
  const [place] = await sql<{ nodeport: number }[]>`
    SELECT nodeport FROM pg_dist_placement JOIN pg_dist_node USING (groupid)
    WHERE shardid = get_shard_id_for_distribution_column('products', ${productId}::bigint)`
  const proxy = proxies.find(({ port }) => port === place?.nodeport)
  if (!proxy) throw new Error(`product ${productId} is on no worker behind a proxy`)
  return proxy
}

/** A product on another worker. */
async function productElsewhere(shop: Awaited<ReturnType<typeof open>>): Promise<number> {
  const id = await shop.api.create('/products/', sample.product)
  return (await shop.proxyAt(id)) === shop.proxy ? productElsewhere(shop) : id
}

/** Changes the price of the product. Resolves when the coordinator has committed it, but its worker has not. */
async function raisePrice({ api, proxy, id }: { readonly api: Client; readonly proxy: TcpProxy; readonly id: number }) {
  const held = proxy.holdBackFrom(SECOND_PHASE)
  const writing = api.put(`/products/${id}`, { ...sample.product, price: NEW_PRICE })
  await held.begun
  return { writing, held }
}

/** How many products the index has that cost as much or more. */
function countOf(api: Client, price: number) {
  return api.get(`/facets/products?min_price=${price}&facets=rating`)
}
