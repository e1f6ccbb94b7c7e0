import { expect, setDefaultTimeout, test } from 'bun:test'
import { onOneEngine } from '../test/harness/contract.ts'
import { startFaultyProxy } from '../test/harness/peers/faulty-proxy.ts'
import { type Client, Conflict, createClient, type ProductCreate } from './index.js'

setDefaultTimeout(120_000)

const TIMEOUT_MS = 400
const LATE_MS = 600
/** Enough for any of these requests to get through in the end. */
const RETRIES = 40

const spade: ProductCreate = { name: 'Spade', description: 'Steel', price: 1 }

onOneEngine('behind a network that fails in every way', api => {
  test('each created resource is there once, and has the id that the client was told', async () => {
    await using shop = await faultyShop()
    const names = Array.from({ length: 30 }, (_, number) => `Once ${number}`)
    const created = await Promise.all(names.map(name => shop.client.products.create({ ...spade, name })))
    expect(created.map(({ name }) => name)).toEqual(names)
    const stored = (await storedProducts()).filter(({ name }) => name.startsWith('Once '))
    expect(byId(stored)).toEqual(byId(created))
  })

  test('each line of a bulk creation is there once', async () => {
    await using shop = await faultyShop()
    const parts = Array.from({ length: 20 }, (_, part) =>
      Array.from({ length: 5 }, (_, line) => ({ ...spade, name: `Line ${part}.${line}` })),
    )
    const created = await Promise.all(parts.map(lines => shop.client.products.createMany(lines)))
    const stored = (await storedProducts()).filter(({ name }) => name.startsWith('Line '))
    expect(stored.map(({ id }) => id)).toEqual(created.flatMap(({ ids }) => ids).toSorted((a, b) => a - b))
    expect(stored).toHaveLength(100)
  })

  test('each edit that succeeds is done once, and none is done twice', async () => {
    await using shop = await faultyShop()
    const { id } = await shop.direct.products.create(spade)
    const edits = Array.from({ length: 40 }, () =>
      shop.client.products.edit(id, product => ({ ...product, price: product.price + 1 })),
    )
    const outcomes = await Promise.allSettled(edits)
    const done = outcomes.filter(({ status }) => status === 'fulfilled').length
    const failures = outcomes.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason] : []))
    for (const failure of failures) {
      expect(failure).toBeInstanceOf(Conflict)
      expect(failure).toMatchObject({ mayBeDone: true })
    }
    const { price } = await shop.direct.products.get(id)
    expect(price - spade.price).toBeGreaterThanOrEqual(done)
    expect(price - spade.price).toBeLessThanOrEqual(done + failures.length)
    expect(done).toBeGreaterThan(0)
  })

  test('an edit that sets a value succeeds whatever answers are lost', async () => {
    await using shop = await faultyShop()
    const products = await Promise.all(Array.from({ length: 30 }, () => shop.direct.products.create(spade)))
    await Promise.all(products.map(({ id }) => shop.client.products.edit(id, it => ({ ...it, price: 29 }))))
    const prices = await Promise.all(products.map(async ({ id }) => (await shop.direct.products.get(id)).price))
    expect(new Set(prices)).toEqual(new Set([29]))
  })

  test('each delete is done, also one whose answer was lost', async () => {
    await using shop = await faultyShop()
    const products = await Promise.all(Array.from({ length: 40 }, () => shop.direct.products.create(spade)))
    const deleted = await Promise.all(products.map(({ id }) => shop.client.products.delete(id)))
    const answered = deleted.flatMap(product => (product === null ? [] : [product.id]))
    expect(products.map(({ id }) => id)).toEqual(expect.arrayContaining(answered))
    const left = new Set((await storedProducts()).map(({ id }) => id))
    expect(products.filter(({ id }) => left.has(id))).toEqual([])
  })

  test('a list that is read item by item has each item once, in order, while others are deleted', async () => {
    await using shop = await faultyShop()
    const lines = Array.from({ length: 120 }, (_, number) => ({ ...spade, name: `Item ${number}` }))
    const { ids } = await shop.direct.products.createMany(lines)
    const kept = ids.filter((_, index) => index % 3 !== 0)
    const seen: number[] = []
    for await (const { id } of shop.client.products.all({ limit: 10 })) {
      seen.push(id)
      // Deletes items that were read already. A list that pages by `skip` would now miss others.
      const index = ids.indexOf(id)
      if (index % 3 === 0 && index >= 0) await shop.direct.products.delete(id)
    }
    expect(seen.filter(id => kept.includes(id))).toEqual(kept)
    expect(new Set(seen).size).toBe(seen.length)
  })

  async function faultyShop(): Promise<AsyncDisposable & { readonly client: Client; readonly direct: Client }> {
    const proxy = await startFaultyProxy(api.address(), LATE_MS)
    return {
      client: createClient(proxy.address, { timeoutMs: TIMEOUT_MS, retries: RETRIES }),
      direct: createClient(api.address(), { timeoutMs: 60_000 }),
      [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
    }
  }

  function storedProducts() {
    return Array.fromAsync(createClient(api.address(), { timeoutMs: 60_000 }).products.all())
  }
})

function byId<Item extends { readonly id: number }>(items: readonly Item[]): Item[] {
  return items.toSorted((one, other) => one.id - other.id)
}
