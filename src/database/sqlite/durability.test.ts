import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { z } from 'zod'
import { campaign } from '../../../test/harness/campaign.ts'
import { type Client, client } from '../../../test/harness/client.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { until } from '../../../test/harness/until.ts'

/** Services are started and killed again and again. */
setDefaultTimeout(120_000)

const ROUNDS = 5
const WRITERS = 32

/** Writes that are acknowledged in a round before the service is killed amid others. */
const ACKNOWLEDGED_BEFORE_KILL = 300

const Reviewed = z.object({ id: z.int(), product_id: z.int(), user_id: z.int() })
const Shown = z.object({
  id: z.int(),
  name: z.string(),
  description: z.string(),
  price: z.number(),
  reviews: z.array(Reviewed),
})

/** A client's knowledge of one of its products: each update writes the next version into all fields. */
interface Known {
  /** The last acknowledged version. */
  acknowledged: number
  /** The last version sent, which may or may not be stored. */
  sent: number
  /** Deletion, likewise. */
  deletion: 'not sent' | 'sent' | 'acknowledged'
}

campaign('what was acknowledged before a kill is there afterwards, whole, and no id is used again', async effort => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  const known = new Map<number, Known>()
  const reviews = new Map<number, { readonly product: number; readonly user: number }>()
  let userId = 0
  let highestId = 0

  for (const round of effort.rounds(ROUNDS)) {
    await using service = await startService(`sqlite:${file}`, { flags: ['--access-log', 'off'] })
    const api = client(() => service.address)
    const highestBefore = highestId
    await expectWhatIsKnown(api, known, reviews)
    if (round === 0) userId = await api.create('/users/', sample.user)

    let acknowledged = 0
    const given: number[] = []
    const write = async () => {
      const id = await api.create('/products/', version(0))
      given.push(id)
      highestId = Math.max(highestId, id)
      const product: Known = { acknowledged: 0, sent: 0, deletion: 'not sent' }
      expect(known.has(id), `product ${id} has had its id before`).toBe(false)
      known.set(id, product)
      acknowledged += 1
      const review = await api.create('/reviews/', sample.review(id, userId))
      expect(reviews.has(review), `review ${review} has had its id before`).toBe(false)
      reviews.set(review, { product: id, user: userId })
      acknowledged += 1
      for (let next = 1; next <= 3; next += 1) {
        product.sent = next
        if ((await api.put(`/products/${id}`, version(next))).status !== 200) throw new Error(`PUT of ${id}`)
        product.acknowledged = next
        acknowledged += 1
      }
      if (id % 3 !== 0) return
      product.deletion = 'sent'
      if ((await api.delete(`/products/${id}`)).status !== 200) throw new Error(`DELETE of ${id}`)
      product.deletion = 'acknowledged'
      acknowledged += 1
    }
    const writers = Array.from({ length: WRITERS }, async () => {
      for (;;) await write()
    })
    const cut = Promise.allSettled(writers)
    await until(() => acknowledged >= ACKNOWLEDGED_BEFORE_KILL)
    expect(await service.stop('SIGKILL')).toBe(null)
    for (const outcome of await cut) expectConnectionLost(outcome)
    expect(Math.min(...given), 'the first id of the round').toBeGreaterThan(highestBefore)
  }

  await using service = await startService(`sqlite:${file}`)
  await expectWhatIsKnown(
    client(() => service.address),
    known,
    reviews,
  )
  expect(await service.stop()).toBe(0)
  using database = new Database(file, { readonly: true })
  expect(database.query('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  expect(database.query('PRAGMA foreign_key_check').all()).toEqual([])
})

test('the highest id is not reused after its row was deleted and the service was killed or stopped', async () => {
  using folder = temporaryFolder()
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  let highest = { product: 0, user: 0, review: 0, category: 0 }
  for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
    await using service = await startService(database)
    const api = client(() => service.address)
    const category = await api.create('/categories/', sample.category)
    const product = await api.create('/products/', sample.product)
    const user = await api.create('/users/', sample.user)
    const review = await api.create('/reviews/', sample.review(product, user))
    expect(category).toBeGreaterThan(highest.category)
    expect(product).toBeGreaterThan(highest.product)
    expect(user).toBeGreaterThan(highest.user)
    expect(review).toBeGreaterThan(highest.review)
    highest = { category, product, user, review }
    for (const path of [`/reviews/${review}`, `/users/${user}`, `/products/${product}`, `/categories/${category}`]) {
      expect((await api.delete(path)).status, path).toBe(200)
    }
    await service.stop(signal)
  }
})

/** A product with its version in every field. */
function version(number: number) {
  return { name: `Version ${number}`, description: `${number} `.repeat(500), price: number + 1 }
}

/** Everything acknowledged must be there; an interrupted write is there whole or not at all. */
async function expectWhatIsKnown(
  api: Client,
  known: Map<number, Known>,
  reviews: Map<number, { readonly product: number; readonly user: number }>,
): Promise<void> {
  const stored = z.array(Shown).parse((await api.get('/products/?limit=1000000')).body)
  const byId = new Map(stored.map(product => [product.id, product]))
  for (const { id, name, description, price } of stored) {
    expect({ id, name, description, price }, `product ${id} is whole`).toEqual({ id, ...version(price - 1) })
  }
  for (const [id, { acknowledged, sent, deletion }] of known) {
    const product = byId.get(id)
    if (deletion === 'acknowledged') expect(product, `product ${id} was deleted`).toBe(undefined)
    if (deletion === 'not sent') expect(product?.id, `product ${id} was created`).toBe(id)
    if (!product) continue
    expect(product.price - 1, `version of product ${id}`).toBeGreaterThanOrEqual(acknowledged)
    expect(product.price - 1, `version of product ${id}`).toBeLessThanOrEqual(sent)
  }
  const shown = z.array(Reviewed).parse((await api.get('/reviews/?limit=1000000')).body)
  const shownIds = new Set(shown.map(({ id }) => id))
  for (const [id, { product }] of reviews) {
    if (byId.has(product)) expect(shownIds.has(id), `review ${id} of product ${product}`).toBe(true)
    else expect(shownIds.has(id), `review ${id} of the deleted product ${product}`).toBe(false)
  }
  const embedded = stored.flatMap(product => product.reviews.map(({ id }) => id))
  expect(embedded.sort((a, b) => a - b)).toEqual(shown.map(({ id }) => id))
  // An interrupted write may have been done. From here on its outcome is known.
  for (const { id, price } of stored) {
    known.set(id, { acknowledged: price - 1, sent: price - 1, deletion: 'not sent' })
  }
  for (const [id, product] of known) if (!byId.has(id)) product.deletion = 'acknowledged'
  for (const { id, product_id, user_id } of shown) reviews.set(id, { product: product_id, user: user_id })
}

/** A writer may fail only because the service is gone. */
function expectConnectionLost(outcome: PromiseSettledResult<void>): void {
  const reason = outcome.status === 'rejected' ? outcome.reason : new Error('the writer has ended')
  const code = reason instanceof Error && 'code' in reason ? String(reason.code) : String(reason)
  expect(code).toMatch(/^(ECONNRESET|ECONNREFUSED|ConnectionClosed|ConnectionRefused)$/)
}
