import { afterAll, beforeAll, expect, setDefaultTimeout } from 'bun:test'
import { campaign } from '../../../../test/harness/campaign.ts'
import { idsOf } from '../../../../test/harness/catalog/list-pages.ts'
import { type Client, client } from '../../../../test/harness/client.ts'
import { withEachEngine } from '../../../../test/harness/contract.ts'
import { sample } from '../../../../test/harness/samples.ts'
import { startService } from '../../../../test/harness/service.ts'

/** Many clients write through two processes at the same time, and each looks for its own writes through the other one. */

setDefaultTimeout(120_000)

const WRITERS = 12

withEachEngine('selections while many write', engine => {
  const open = new AsyncDisposableStack()
  let nodes: readonly Client[] = []
  beforeAll(async () => {
    const { url } = open.use(await engine.freshDatabase())
    const flags = ['--access-log', 'off']
    const services = [await startService(url, { flags }), await startService(url, { flags })]
    for (const service of services) open.use(service)
    nodes = services.map(({ address }) => client(() => address))
  })
  afterAll(() => open.disposeAsync())

  campaign('each acknowledged write is in the selections of the other process at once', async ({ rounds }) => {
    const [one, other] = nodes
    if (!one || !other) throw new Error('two processes are needed')
    const user = await one.create('/users/', sample.user)
    let written = 0
    for (const _ of rounds(2)) {
      const writers = Array.from({ length: WRITERS }, async (_, which) => {
        const [writer, reader] = which % 2 === 0 ? [one, other] : [other, one]
        written += 1
        await seesItsWrites(writer, reader, { number: written, user })
      })
      await Promise.all(writers)
    }
  })
})

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
