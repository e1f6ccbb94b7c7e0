import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { spawnSync } from 'bun'
import { client } from '../../../test/harness/client.ts'
import { withEachEngine } from '../../../test/harness/contract.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { sample } from '../../../test/harness/samples.ts'
import { type Service, startService } from '../../../test/harness/service.ts'

setDefaultTimeout(120_000)

/** As many as a product shows, each as large as a request may be: about 95 MiB in all. */
const REVIEWS = 100
const COMMENT_CHARACTERS = 1_000_000

/** More than may wait: about 95 MiB. */
const LARGE_BODIES = 100

/** Clients that request it and read nothing, and for how long. */
const READERS = 20
const WATCHED_MS = 2_000

/** Without turns between the pieces, requests wait for 24 s. */
const WAIT_MAX_MS = 5_000
const MEMORY_MAX_KIB = 256 * 1_024
/** The answer to a delete is held whole, and what it was made of until it is collected, which a busy machine puts off. */
const DELETE_MEMORY_MAX_KIB = 512 * 1_024

withEachEngine('a product with 100 reviews of 1 MB each', engine => {
  const open = new AsyncDisposableStack()
  let service: Service
  let product: { id: number; reviews: { id: number }[] }
  let userId = 0
  let lightId = 0
  const api = client(() => service.address)

  beforeAll(async () => {
    const database = open.use(await engine.freshDatabase())
    service = open.use(await startService(database.url, { flags: ['--access-log', 'off'] }))
    lightId = await api.create('/products/', sample.product)
    const id = await api.create('/products/', sample.product)
    userId = await api.create('/users/', sample.user)
    product = { id, ...sample.product, reviews: [] }
    for (let number = 0; number < REVIEWS; number += 1) {
      const review = { ...sample.review(id, userId), comment: `"${number}"\n`.padEnd(COMMENT_CHARACTERS, 'x') }
      product.reviews.push({ id: await api.create('/reviews/', review), ...review })
    }
  })
  afterAll(() => open.disposeAsync())

  test('a heavy product that its client does not read holds up nobody and takes little memory', async () => {
    const before = memoryKib(service)
    const readers = Array.from({ length: READERS }, () => askAndTakeNothing(service, `/products/${product.id}`))
    const waits: number[] = []
    const statuses = new Set<number>()
    let most = before
    const end = performance.now() + WATCHED_MS
    while (performance.now() < end) {
      for (const path of ['/healthz', `/products/${lightId}`]) {
        const asked = performance.now()
        statuses.add((await api.get(path)).status)
        waits.push(performance.now() - asked)
      }
      most = Math.max(most, memoryKib(service))
    }
    for (const reader of readers) reader.destroy()
    expect([...statuses]).toEqual([200])
    expect(Math.max(...waits)).toBeLessThan(WAIT_MAX_MS)
    expect(most - before).toBeLessThan(MEMORY_MAX_KIB)
  })

  test('a heavy product reads whole, alone, in a list and from its user', async () => {
    const expected = JSON.stringify(product)
    expect(await same(`/products/${product.id}`, expected)).toBe(true)
    const light = JSON.stringify({ id: lightId, ...sample.product, reviews: [] })
    expect(await same(`/products/?after_id=${lightId - 1}&limit=2`, `[${light},${expected}]`)).toBe(true)
    const user = await (await fetch(`${service.address}/users/${userId}`)).text()
    expect(user.endsWith(`"reviews":${JSON.stringify(product.reviews)}}`)).toBe(true)
  })

  test('updating a heavy product returns it whole', async () => {
    const changed = { ...sample.product, price: 12.5 }
    const answer = await fetch(`${service.address}/products/${product.id}`, {
      method: 'PUT',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(changed),
    })
    product = { ...product, ...changed }
    expect((await answer.text()) === JSON.stringify(product)).toBe(true)
  })

  test('a heavy product shows 100 of its reviews, with a link to the rest', async () => {
    const added = await api.create('/reviews/', sample.review(product.id, userId))
    const answer = await fetch(`${service.address}/products/${product.id}`)
    expect(answer.headers.get('Link')).toBe(`</reviews/products/${product.id}?skip=100>; rel="more"`)
    expect((await answer.text()) === JSON.stringify(product)).toBe(true)
    await api.delete(`/reviews/${added}`)
  })

  test('deleting a heavy product returns it whole and holds up nobody', async () => {
    const before = memoryKib(service)
    let isAnswered = false
    const waits: number[] = []
    const statuses = new Set<number>()
    const deleted = fetch(`${service.address}/products/${product.id}`, { method: 'DELETE' }).then(async answer => {
      const text = await answer.text()
      isAnswered = true
      return text
    })
    while (!isAnswered) {
      const asked = performance.now()
      statuses.add((await api.get('/healthz')).status)
      waits.push(performance.now() - asked)
    }
    expect((await deleted) === JSON.stringify(product)).toBe(true)
    expect([...statuses]).toEqual([200])
    expect(Math.max(...waits)).toBeLessThan(WAIT_MAX_MS)
    expect(memoryKib(service) - before).toBeLessThan(DELETE_MEMORY_MAX_KIB)
    expect((await api.get(`/products/${product.id}`)).status).toBe(404)
    expect((await api.get(`/users/${userId}`)).body).toMatchObject({ reviews: [] })
  })

  test('a heavy product in a category keeps its description when the category is deleted', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const products: object[] = []
    for (let number = 1; number <= 3; number += 1) {
      const heavy = { ...sample.product, price: number, description: 'é'.repeat(COMMENT_CHARACTERS / 2) }
      products.push({ id: await api.create(`/products/${categoryId}/products`, heavy), ...heavy })
    }
    const expected = JSON.stringify({ id: categoryId, ...sample.category, products })
    expect(await same(`/categories/${categoryId}`, expected)).toBe(true)
    expect(await same(`/categories/?after_id=${categoryId - 1}`, `[${expected}]`)).toBe(true)
    const isWritten = api.create('/categories/', sample.category)
    const answer = await fetch(`${service.address}/categories/${categoryId}`, { method: 'DELETE' })
    expect((await answer.text()) === expected).toBe(true)
    expect(await isWritten).toBeGreaterThan(categoryId)
    expect((await api.get(`/categories/${categoryId}`)).status).toBe(404)
    const [first] = products
    expect((await api.get(`/products/?after_id=${lightId}&limit=1`)).body).toEqual([{ ...first, reviews: [] }])
  })

  /** Compares without printing 100 MB if they differ. */
  async function same(path: string, expected: string): Promise<boolean> {
    return (await (await fetch(service.address + path)).text()) === expected
  }
})

function askAndTakeNothing({ address }: Service, path: string): Socket {
  const { hostname, port, host } = new URL(address)
  const socket = connect(Number(port), hostname)
  socket.pause()
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  return socket
}

function memoryKib({ processId }: Service): number {
  return Number(spawnSync(['ps', '-o', 'rss=', '-p', String(processId)]).stdout.toString())
}

test('large bodies that wait for a commit are bounded in bytes, and small ones are not turned away because of them', async () => {
  await using database = await sqlite.freshDatabase()
  await using service = await startService(database.url, { flags: ['--access-log', 'off'] })
  const create = (description: string) =>
    fetch(`${service.address}/products/`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...sample.product, description }),
    })
  using other = new Database(database.url.slice('sqlite:'.length))
  other.run('BEGIN IMMEDIATE')
  const large = Array.from({ length: LARGE_BODIES }, () => create('x'.repeat(COMMENT_CHARACTERS)))
  const refused = await Promise.race(large)
  expect(refused.status).toBe(503)
  expect(refused.headers.get('Retry-After')).toBe('1')
  expect(await refused.json()).toEqual({ detail: 'Too many large requests are under way' })
  const small = create('small')
  other.run('ROLLBACK')
  expect((await small).status).toBe(200)
  const statuses = await Promise.all(large.map(async answer => (await answer).status))
  expect(new Set(statuses)).toEqual(new Set([200, 503]))
})
