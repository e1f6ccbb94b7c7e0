import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import fc from 'fast-check'
import { z } from 'zod'
import { campaign } from '../../../../test/harness/campaign.ts'
import { lines, NDJSON } from '../../../../test/harness/catalog/keyed.ts'
import { idsOf, nextOf } from '../../../../test/harness/catalog/list-pages.ts'
import { type Client, client } from '../../../../test/harness/client.ts'
import { QUICK_HASHES, withEachEngine } from '../../../../test/harness/contract.ts'
import { sample } from '../../../../test/harness/samples.ts'
import { startService } from '../../../../test/harness/service.ts'

setDefaultTimeout(120_000)

/** Clients that write at the same time, each of which looks for its own writes through the other node. */
const WRITERS = 6

withEachEngine('selections on two nodes', engine => {
  const open = new AsyncDisposableStack()
  let url = ''
  let nodes: readonly Client[] = []
  const start = async () => {
    const service = open.use(await startService(url, { flags: ['--access-log', 'off'], environment: QUICK_HASHES }))
    return client(() => service.address)
  }
  beforeAll(async () => {
    ;({ url } = open.use(await engine.freshDatabase()))
    nodes = [await start(), await start()]
  })
  afterAll(() => open.disposeAsync())

  campaign(
    'an item that keeps its key while others write appears exactly once, whichever node answers',
    async ({ rounds }) => {
      for (const round of rounds(1)) {
        const sorts = ['price', '-price', 'name', '-name', 'id', '-id', 'rating', '-rating', 'reviews', '-reviews']
        const [node, other] = nodes
        if (!node || !other) throw new Error('two nodes are needed')
        const kept = await load(node, 60)
        const moving = await load(node, 20)
        let isOver = false
        const random = fc.sample(fc.nat({ max: 1_000 }), { seed: round, numRuns: 2_000 })
        let drawn = 0
        const next = () => random[drawn++ % random.length] ?? 0
        const writers = nodes.map(async writer => {
          while (!isOver) {
            const id = moving[next() % moving.length]
            const product = { ...sample.product, name: `Name ${next() % 9}`, price: (next() % 9) + 1 }
            await writer.put(`/products/${id}`, product)
            const made = await writer.create('/products/', product)
            if (next() % 2 === 0) await writer.delete(`/products/${made}`)
          }
        })
        try {
          await Promise.all(
            sorts.map(async sort => {
              const seen: number[] = []
              let path: string | null = `/products/?sort=${sort}&limit=${17 + (round % 5)}&fields=id`
              for (let turn = round; path !== null; turn += 1) {
                const answer: Awaited<ReturnType<Client['get']>> = await (turn % 2 === 0 ? node : other).get(path)
                seen.push(...idsOf(answer))
                // The writers may create faster than this reads.
                path = seen.length > 5_000 ? null : nextOf(answer)
              }
              const times = Map.groupBy(seen, id => id)
              const wrong = kept.filter(id => times.get(id)?.length !== 1)
              expect(wrong, `sort=${sort}, seed ${round}`).toEqual([])
            }),
          )
        } finally {
          isOver = true
          await Promise.all(writers)
        }
      }
    },
  )

  test('a cursor holds on another node, and on one that has just started', async () => {
    const [node, other] = nodes
    if (!node || !other) throw new Error('two nodes are needed')
    await load(node, 30)
    for (const query of ['sort=name', 'sort=-rating', 'q=name', 'min_price=2']) {
      const cursor = await cursorOf(node, `/products/?${query}&limit=10`)
      const expected = idsOf(await node.get(`/products/?${query}&cursor=${cursor}`))
      expect(expected.length, query).toBeGreaterThan(0)
      expect(idsOf(await other.get(`/products/?${query}&cursor=${cursor}`)), query).toEqual(expected)
    }
    const cursor = await cursorOf(node, '/products/?sort=price&limit=10')
    const started = await start()
    expect(idsOf(await started.get(`/products/?sort=price&cursor=${cursor}`))).toEqual(
      idsOf(await node.get(`/products/?sort=price&cursor=${cursor}`)),
    )
  })

  campaign('each acknowledged write is in the selections of the other process at once', async ({ rounds }) => {
    const [one, other] = nodes
    if (!one || !other) throw new Error('two processes are needed')
    const user = await one.create('/users/', sample.user)
    let written = 0
    for (const _ of rounds(1)) {
      const writers = Array.from({ length: WRITERS }, async (_, which) => {
        const [writer, reader] = which % 2 === 0 ? [one, other] : [other, one]
        written += 1
        await seesItsWrites(writer, reader, { number: written, user })
      })
      await Promise.all(writers)
    }
  })
})

/** Creates products of few names and prices, and returns their ids. */
async function load(api: Client, count: number): Promise<number[]> {
  const products = Array.from({ length: count }, (_, index) => ({
    ...sample.product,
    name: `Name ${index % 7}`,
    price: (index % 5) + 1,
  }))
  const headers = { 'Content-Type': NDJSON }
  const { body } = await api.send('/products/', { method: 'POST', headers, body: lines(...products) })
  return z.object({ ids: z.array(z.int()) }).parse(body).ids
}

async function cursorOf(api: Client, path: string): Promise<string> {
  const cursor = new URL(nextOf(await api.get(path)) ?? '', 'http://shop.example').searchParams.get('cursor')
  if (cursor === null) throw new Error(`${path} has no cursor`)
  return cursor
}

/** `number` makes the words, prices and names of a writer its own. */
async function seesItsWrites(writer: Client, reader: Client, { number, user }: { number: number; user: number }) {
  const shown = async (query: string) => idsOf(await reader.get(`/products/?${query}&fields=id`))
  const inBand = (price: number) => `min_price=${price}&max_price=${price}&count=5`
  const [name, price] = [`Word${number}x`, 100 + number]
  const category = await writer.create('/categories/', { ...sample.category, name })
  expect(idsOf(await reader.get(`/categories/?q=${name}&sort=name`)), name).toEqual([category])

  const product = await writer.create(`/products/${category}/products`, { ...sample.product, name, price })
  for (const query of [inBand(price), `q=${name}`, `category_id=${category}`, `q=${name}&sort=-rating`]) {
    expect(await shown(query), query).toEqual([product])
  }
  expect(await shown(`category_id=${category}&min_rating=1`)).toEqual([])

  const review = await writer.create('/reviews/', sample.review(product, user))
  expect(await shown(`category_id=${category}&min_rating=4`)).toEqual([product])
  await writer.patch(`/reviews/${review}`, { ...sample.review(product, user), rating: 2 })
  expect(await shown(`category_id=${category}&min_rating=4`)).toEqual([])
  expect(await shown(`category_id=${category}&min_rating=2`)).toEqual([product])

  await writer.put(`/products/${product}`, { ...sample.product, name: `${name}y`, price: price + 1_000 })
  expect(await shown(inBand(price))).toEqual([])
  expect(await shown(inBand(price + 1_000))).toEqual([product])
  expect(await shown(`q=${name}%20`)).toEqual([])

  await writer.delete(`/categories/${category}`)
  expect(await shown(`category_id=${category}&sort=price`)).toEqual([])
  expect(await shown(`category_id=0&${inBand(price + 1_000)}`)).toEqual([product])
  await writer.delete(`/products/${product}`)
  expect(await shown(inBand(price + 1_000))).toEqual([])
  expect(await shown(`q=${name}y`)).toEqual([])
}
