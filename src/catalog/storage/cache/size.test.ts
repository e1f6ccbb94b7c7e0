import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { client } from '../../../../test/harness/client.ts'
import { sqlite } from '../../../../test/harness/engines.ts'
import { scrape, WITH_METRICS } from '../../../../test/harness/metrics.ts'
import { sample } from '../../../../test/harness/samples.ts'
import { type Service, startService } from '../../../../test/harness/service.ts'

setDefaultTimeout(120_000)

const open = new AsyncDisposableStack()
let service: Service
const api = client(() => service.address)

beforeAll(async () => {
  const database = open.use(await sqlite.freshDatabase())
  service = open.use(await startService(database.url, { flags: WITH_METRICS }))
})
afterAll(() => open.disposeAsync())

test('the size of the cache includes the queries that pages, counts and facets are known by', async () => {
  const bytes = async () => (await scrape(service)).value('stockroom_cache_bytes')
  const ids = Array.from({ length: 100 }, (_, place) => `id=${1e14 + place}`).join('&')
  for (const path of [`/products/?${ids}`, `/products/?${ids}&limit=5&count=9`, `/facets/products?${ids}`]) {
    const before = await bytes()
    expect((await api.get(path)).status, path).toBe(200)
    // The digits of the ids alone.
    expect((await bytes()) - before, path).toBeGreaterThan(1_500 * (path.includes('count') ? 2 : 1))
  }
})

test('a count is kept once for all pages of a selection', async () => {
  const ids = Array.from({ length: 100 }, (_, place) => `id=${2e14 + place}`).join('&')
  const grownBy = async (path: string) => {
    const before = (await scrape(service)).value('stockroom_cache_bytes')
    expect((await api.get(path)).status, path).toBe(200)
    return (await scrape(service)).value('stockroom_cache_bytes') - before
  }
  const first = await grownBy(`/products/?${ids}&limit=5&skip=0&count=9`)
  const pageAlone = await grownBy(`/products/?${ids}&limit=5&skip=1`)
  expect(first).toBeGreaterThan(pageAlone)
  expect(await grownBy(`/products/?${ids}&limit=5&skip=2&count=9`)).toBe(pageAlone)
})

test('a resource of more than 65,536 characters is not kept, because it would displace many others', async () => {
  const bytes = async () => (await scrape(service)).value('stockroom_cache_bytes')
  for (const { characters, isKept } of [
    { characters: 60_000, isKept: true },
    { characters: 70_000, isKept: false },
  ]) {
    const id = await api.create('/products/', { ...sample.product, description: 'x'.repeat(characters) })
    const before = await bytes()
    expect((await api.get(`/products/${id}`)).status).toBe(200)
    expect((await bytes()) - before > characters).toBe(isKept)
  }
})

test('a page does not keep the long URL by which it was asked for', async () => {
  const unknown = 'x'.repeat(14_000)
  const ask = async (from: number, pages: number) => {
    const skips = Array.from({ length: pages }, (_, place) => from + place)
    for (let next = skips.splice(0, 10); next.length > 0; next = skips.splice(0, 10)) {
      const paths = next.map(skip => `/products/?skip=${skip}&unknown=${unknown}`)
      // The second time, the page is found in the cache, and what is derived from it stays there.
      for (const _ of [1, 2]) await Promise.all(paths.map(path => api.get(path)))
    }
    return (await scrape(service)).value('process_resident_memory_bytes')
  }
  const before = await ask(0, 300)
  const pages = 1_200
  const grown = (await ask(300, pages)) - before
  expect(grown).toBeLessThan(0.9 * pages * unknown.length)
})
