import { expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import { type Client, client } from '../../../../test/harness/client.ts'
import { onCitus } from '../../../../test/harness/contract.ts'
import { postgres } from '../../../../test/harness/engines.ts'
import { createCitusDatabase } from '../../../../test/harness/postgres/citus.ts'
import { connected } from '../../../../test/harness/postgres/database.ts'
import { sample } from '../../../../test/harness/samples.ts'
import { startService } from '../../../../test/harness/service.ts'
import { until } from '../../../../test/harness/until.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']
const PRODUCTS = 16
/** More than a process has connections. */
const WAITING = 16

const Items = z.array(z.object({ id: z.int() }))

onCitus('writes on Citus', coordinator => {
  test('a lost worker costs only its own products and their reviews, and nothing is created twice', async () => {
    await using database = await createCitusDatabase(coordinator, { throughProxies: true })
    await using service = await startService(database.url, { flags: FLAGS })
    const api = client(() => service.address)
    const user = await api.create('/users/', sample.user)
    const products = await Promise.all(Array.from({ length: PRODUCTS }, () => api.create('/products/', sample.product)))
    const review = (product: number) => api.post('/reviews/', sample.review(product, user))
    const statuses = async (ask: (product: number) => ReturnType<Client['get']>) =>
      (await Promise.all(products.map(ask))).map(({ status }) => status)
    expect(await statuses(review)).toEqual(products.map(() => 200))

    const [worker] = database.proxies
    await worker?.refuse()
    worker?.cut()
    const reads = await statuses(product => api.get(`/products/${product}`))
    expect(new Set(reads)).toEqual(new Set([200, 503]))
    expect(await statuses(review)).toEqual(reads)
    expect(await statuses(product => api.put(`/products/${product}`, sample.product))).toEqual(reads)
    expect(await statuses(() => api.post('/products/', sample.product))).toEqual(products.map(() => 200))
    expect((await api.post('/categories/', sample.category)).status).toBe(503)

    await worker?.accept()
    await until(async () => (await statuses(review)).every(status => status === 200))
    for (const [place, product] of products.entries()) {
      const reviews = Items.parse((await api.get(`/reviews/products/${product}?limit=100`)).body).length
      const ratings = (await api.get(`/ratings/products/${product}`)).body
      expect(ratings).toMatchObject({ count: reviews })
      expect(reviews).toBeGreaterThanOrEqual(reads[place] === 200 ? 3 : 2)
    }
    expect(Items.parse((await api.get(`/products/?limit=100`)).body)).toHaveLength(2 * PRODUCTS)
  })

  test('writes of a product that somebody has locked hold up no other write', async () => {
    await using database = await createCitusDatabase(coordinator)
    await using service = await startService(database.url, { flags: FLAGS })
    const api = client(() => service.address)
    const locked = await api.create('/products/', sample.product)
    const free = await api.create('/products/', sample.product)
    await using locking = connected(database.url)
    await locking.unsafe('BEGIN')
    // As a create of a review does.
    await locking`SELECT FROM products WHERE id = ${locked} FOR KEY SHARE`
    expect((await api.put(`/products/${locked}`, sample.product)).status).toBe(200)
    await locking`SELECT FROM products WHERE id = ${locked} FOR UPDATE`
    let ended = 0
    const waiting = Array.from({ length: WAITING }, async () => {
      await api.put(`/products/${locked}`, sample.product)
      ended += 1
    })
    for (let time = 0; time < 4; time += 1) {
      expect((await api.put(`/products/${free}`, sample.product)).status).toBe(200)
    }
    expect(ended).toBe(0)
    await locking.unsafe('ROLLBACK')
    await Promise.all(waiting)
  })

  test('a write is tried again if its worker ends the connection, and is acknowledged when lists show it', async () => {
    await using database = await createCitusDatabase(coordinator)
    await using service = await startService(database.url, { flags: FLAGS })
    const api = client(() => service.address)
    const product = await api.create('/products/', sample.product)
    await using locking = connected(database.url)
    await using looking = connected(database.url)
    await locking.unsafe('BEGIN')
    await locking`SELECT FROM products WHERE id = ${product} FOR UPDATE`
    const updating = api.put(`/products/${product}`, { ...sample.product, price: 7 })
    await until(async () => {
      const ended = await looking<{ result: string }[]>`
        SELECT result FROM run_command_on_workers($$
          SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'
        $$)`
      return ended.some(({ result }) => Number(result) > 0)
    })
    await locking.unsafe('ROLLBACK')
    expect(await updating).toMatchObject({ status: 200, body: { price: 7 } })

    await locking.unsafe('BEGIN')
    await locking`SELECT FROM shown_ids WHERE collection = 'products' FOR UPDATE`
    let isAcknowledged = false
    const creating = api.create('/products/', sample.product).finally(() => {
      isAcknowledged = true
    })
    await until(async () => (await api.get(`/products/${product + 1}`)).status === 200)
    expect(Items.parse((await api.get('/products/')).body)).toHaveLength(1)
    expect(isAcknowledged).toBe(false)
    await locking.unsafe('ROLLBACK')
    expect(await creating).toBe(product + 1)
    expect(Items.parse((await api.get('/products/')).body)).toHaveLength(2)
  })

  test('lists show what a node created before it died, though it could not say so', async () => {
    await using database = await createCitusDatabase(coordinator)
    await using service = await startService(database.url, { flags: FLAGS })
    const api = client(() => service.address)
    const id = await api.create('/products/', sample.product)
    await postgres.write(database.url, `UPDATE shown_ids SET last_id = ${id - 1} WHERE collection = 'products'`)
    await until(async () => Items.parse((await api.get('/products/')).body).length === 1)
  })
})
