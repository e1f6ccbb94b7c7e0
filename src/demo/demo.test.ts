import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { spawn } from 'bun'
import { Hono } from 'hono'
import { createClient } from 'stockroom/client'
import { z } from 'zod'
import { atRoot, LOOPBACK } from '../../test/harness/loopback.ts'
import { childrenOf } from '../../test/harness/process-tree.ts'
import { commandLine, type Service, startServer, surroundingsOf } from '../../test/harness/service.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'
import { until } from '../../test/harness/until.ts'
import { finishApp } from '../server/app.ts'
import { listen } from '../server/listen.ts'
import type { App, Fetch } from '../server/requests.ts'
import { routing } from '../server/routing.ts'
import { forwardTo } from './forwarding.ts'
import { openShop } from './opening.ts'
import KINDS from './vocabulary/kinds.json'

setDefaultTimeout(120_000)

const CLIENT = resolve(import.meta.dir, '../../client')

const StructuredData = z.object({
  name: z.string(),
  offers: z.object({ price: z.string() }),
  aggregateRating: z.object({ ratingValue: z.number(), reviewCount: z.number() }).optional(),
})

const folder = temporaryFolder()
const real = join(folder.path, 'real.db')

let demo: Service
beforeAll(async () => {
  // A demo never touches the database of the user who starts it, heeds no setting that its help does not name, and asks no proxy
  // for its own service.
  const environment = {
    ...{ TMPDIR: folder.path, DATABASE_URL: `sqlite:${real}`, AUTH: 'keys', RATE_LIMIT: '1/h' },
    ...{ HTTP_PROXY: 'http://127.0.0.1:9', no_proxy: 'mail.example' },
  }
  demo = await startServer(['demo', '--host', '127.0.0.1', '--port', '0'], { environment })
})
afterAll(async () => {
  await demo[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const shop = () => createClient(demo.address)

test('the shop opens with 500 products of eight categories, whose names, prices and ratings differ', async () => {
  const { items, total } = await shop().products.list({
    sort: '-reviews',
    limit: 1_000,
    count: 1_000,
    fields: ['id', 'name', 'price', 'category_id', 'rating'],
  })
  expect(total).toBe(500)
  expect(new Set(items.map(({ name }) => name)).size).toBe(500)
  expect(new Set(items.map(({ category_id }) => category_id)).size).toBe(8)
  expect(items.every(({ price }) => price >= 5 && price < 1_000)).toBe(true)
  expect(items[0]?.rating.count).toBeGreaterThan(100)
  expect(items.at(-1)?.rating).toMatchObject({ count: 0, average: null })
  const averages = items.flatMap(({ rating }) => rating.average ?? [])
  const mean = averages.reduce((sum, average) => sum + average, 0) / averages.length
  expect(mean).toBeWithin(3.8, 4.8)
})

test('the shop opens however long the service takes to bring its index of searches up to date', async () => {
  let refusals = 8
  const idsOf = (lines: string) => lines.trim().split('\n').keys()
  using service = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async request => {
      if (request.method === 'POST') return Response.json({ ids: [...idsOf(await request.text())] })
      refusals -= 1
      return refusals < 0 ? Response.json([]) : new Response('{}', { status: 503, headers: { 'Retry-After': '0' } })
    },
  })
  const opened = await openShop(createClient(service.url.origin), new AbortController().signal)
  expect(opened.products).toHaveLength(500)
})

test('what reviewers say fits the product: no sentence about a mug is about a tent', async () => {
  const { items } = await shop().products.list({ q: 'mug ', limit: 1_000, fields: ['id', 'name'] })
  const comments: string[] = []
  for (const { id } of items) {
    const { items: reviews } = await shop().reviews.of({ product: id }).list({ limit: 100 })
    comments.push(...reviews.map(({ comment }) => comment))
  }
  expect(items.every(({ name }) => name.includes('Mug'))).toBe(true)
  expect(comments.length).toBeGreaterThan(30)
  const [ofMugs, ofOthers] = [true, false].map(isMug =>
    KINDS.filter(({ kind }) => (kind === 'Mug') === isMug).flatMap(({ praise, gripes }) => [...praise, ...gripes]),
  )
  const saying = (sentences: readonly string[] = []) =>
    comments.filter(comment => sentences.some(sentence => comment.includes(sentence)))
  expect(saying(ofMugs).length).toBeGreaterThan(comments.length / 4)
  expect(saying(ofOthers)).toEqual([])
})

test('a page has no inline script or style, names files of its own origin only, and its policy allows no other', async () => {
  for (const path of ['/', '/shop/7']) {
    const answer = await fetch(demo.address + path)
    const html = await answer.text()
    const policy = answer.headers.get('Content-Security-Policy') ?? ''
    expect(policy).toContain("default-src 'self'")
    expect(policy).not.toContain('unsafe')
    expect(html).not.toMatch(/\sstyle=|\son\w+=|<style/)
    expect([...html.matchAll(/<script(?![^>]* src=)([^>]*)/g)].map(([, attributes]) => attributes)).toEqual(
      path === '/' ? [] : [' type="application/ld+json"'],
    )
    const paths = [...html.matchAll(/(?:href|src)="([^"#?]*[?]?[^"]*)"/g)].map(([, address = '']) => address)
    expect(paths.length).toBeGreaterThan(5)
    expect(paths.filter(address => !/^[/?]/.test(address))).toEqual([])
  }
})

test('browsers get the client as it is in the package', async () => {
  for (const name of readdirSync(CLIENT).filter(file => file.endsWith('.js'))) {
    const answer = await fetch(`${demo.address}/static/client/${name}`)
    expect(await answer.text(), name).toBe(readFileSync(join(CLIENT, name), 'utf8'))
    expect(answer.headers.get('Content-Type')).toStartWith('text/javascript')
  }
})

test('a product page tells search engines the rating that the API has, and none without a review', async () => {
  const rated = await shop().products.list({ sort: '-reviews', limit: 1, fields: ['id', 'name', 'rating'] })
  const unrated = await shop().products.list({ sort: 'reviews', limit: 1, fields: ['id', 'name', 'rating'] })
  const [best, none] = [rated.items[0], unrated.items[0]]
  expect(none?.rating.count).toBe(0)
  expect(await structuredData(best?.id)).toMatchObject({
    name: best?.name ?? '',
    aggregateRating: { ratingValue: best?.rating.average ?? 0, reviewCount: best?.rating.count ?? 0 },
  })
  expect(await structuredData(none?.id)).not.toHaveProperty('aggregateRating')
})

test('the name and description of a product are text, in its page and in its data for search engines', async () => {
  const name = '</script><img src=x>&'
  const { id } = await shop().products.create({ name, description: '<b>"', price: 3 })
  const html = await (await fetch(`${demo.address}/shop/${id}`)).text()
  expect(html).not.toContain('<img src=x>')
  expect(await structuredData(id)).toMatchObject({ name, offers: { price: '3.00' } })
  await shop().products.delete(id)
})

test('a product that is not there is 404, and so is a path that neither the shop nor the service has', async () => {
  const missing = await fetch(`${demo.address}/shop/999999`)
  expect(missing.status).toBe(404)
  expect(await missing.text()).toContain('This product is not here')
  expect((await fetch(`${demo.address}/shop/one`)).status).toBe(404)
  expect((await fetch(`${demo.address}/elsewhere`)).status).toBe(404)
})

test('a picture is an SVG drawn from id and name, always the same, and repeats nothing that was sent', async () => {
  const draw = async (id: number, name: string) => {
    const answer = await fetch(`${demo.address}/pictures/${id}?name=${encodeURIComponent(name)}`)
    expect(answer.headers.get('Content-Type')).toBe('image/svg+xml')
    return answer.text()
  }
  const kettle = await draw(7, 'Copper Kettle, 1.5 l')
  expect(kettle).toStartWith('<svg')
  expect(await draw(7, 'Copper Kettle, 1.5 l')).toBe(kettle)
  expect(await draw(8, 'Copper Kettle, 1.5 l')).not.toBe(kettle)
  expect(await draw(7, 'Glass Kettle, 1.5 l')).not.toBe(kettle)
  expect(await draw(7, '<script>Thing')).not.toContain('Thing')
})

test('the API is at the same address: lists, NDJSON, errors and its documentation', async () => {
  const lines = await fetch(`${demo.address}/products/?limit=2&sort=price`, {
    headers: { Accept: 'application/x-ndjson' },
  })
  expect((await lines.text()).trim().split('\n')).toHaveLength(2)
  expect(lines.headers.get('Link')).toContain('rel="next"')
  expect((await fetch(`${demo.address}/products/?limit=x`)).status).toBe(422)
  expect(await (await fetch(`${demo.address}/docs`)).text()).toContain('swagger')
  expect((await fetch(`${demo.address}/products`, { redirect: 'manual' })).status).toBe(307)
})

test('a poll at the API of the demo may wait for as long as one at the service', async () => {
  await using service = listen({ ...LOOPBACK, app: atRoot(() => new Response('{}')) })
  const app: App = new Hono(routing())
  let allowedSeconds = 0
  app.use(({ env }, next) => {
    env.allowIdle = seconds => {
      allowedSeconds = seconds
    }
    return next()
  })
  app.get('/', forwardTo(service.address))
  await using front = listen({ ...LOOPBACK, app })
  expect((await fetch(front.address)).status).toBe(200)
  // The longest wait, and time for its answer.
  expect(allowedSeconds).toBeGreaterThanOrEqual(90)
})

test('a client that leaves amid a poll at the API of the demo ends the one at the service', async () => {
  const [asked, left] = [Promise.withResolvers<void>(), Promise.withResolvers<Response>()]
  const poll: Fetch = ({ signal }, scope) => {
    scope.allowIdle(200)
    signal.addEventListener('abort', () => left.resolve(new Response()))
    asked.resolve()
    return left.promise
  }
  await using service = listen({ ...LOOPBACK, app: atRoot(poll) })
  const app: App = new Hono(routing())
  app.get('/', forwardTo(service.address))
  finishApp(app)
  await using front = listen({ ...LOOPBACK, app })
  const leaving = new AbortController()
  const polling = fetch(front.address, leaving).catch(() => null)
  await asked.promise
  leaving.abort()
  await left.promise
  expect(await polling).toBeNull()
})

test('HEAD at the API of the demo has the length of GET, or none if the answer is streamed', async () => {
  const lengthOf = async (path: string, method: string) =>
    (await fetch(demo.address + path, { method, headers: { 'Accept-Encoding': 'identity' } })).headers.get(
      'Content-Length',
    )
  expect(await lengthOf('/products/?limit=500', 'GET')).toBeNull()
  expect(await lengthOf('/products/?limit=500', 'HEAD')).toBeNull()
  expect(await lengthOf('/openapi.json', 'HEAD')).toBe(await lengthOf('/openapi.json', 'GET'))
})

test('prices change by themselves', async () => {
  const before = await prices()
  await until(async () => changes(before, await prices()) > 0)
})

test('a busy shop changes five prices and adds two reviews a second, until it is switched off', async () => {
  const before = { prices: await prices(), reviews: await newestReview() }
  expect(await setBusy(true)).toBe(true)
  await until(async () => changes(before.prices, await prices()) >= 6 && (await newestReview()) >= before.reviews + 3)
  expect(await (await fetch(`${demo.address}/busy`)).json()).toBe(true)
  expect(await setBusy(false)).toBe(false)
  const [last] = [await newestReview()]
  await Bun.sleep(1_100)
  expect(await newestReview()).toBeLessThanOrEqual(last + 1)
})

test('only a short JSON switches it, so no form of another site can, and nobody fills the memory', async () => {
  const form = await fetch(`${demo.address}/busy`, { method: 'PUT', body: new URLSearchParams({ on: 'true' }) })
  expect(form.status).toBe(422)
  const text = `${' '.repeat(100_000)}true`
  for (const body of [text, new Blob([text]).stream()]) {
    expect((await fetch(`${demo.address}/busy`, { method: 'PUT', body })).status).toBe(413)
  }
  expect((await fetch(`${demo.address}/busy`, { method: 'POST', body: 'true' })).status).toBe(405)
})

test('the demo says what it serves, stops with status 0, and leaves nothing behind', async () => {
  using own = temporaryFolder()
  const service = await startServer(['demo', '--host', '127.0.0.1', '--port', '0'], {
    environment: { TMPDIR: own.path },
  })
  expect(service.output()).toContain('500 products')
  expect(readdirSync(own.path)).toHaveLength(1)
  expect(await service.stop('SIGINT')).toBe(0)
  expect(readdirSync(own.path)).toEqual([])
  expect(service.errors()).toBe('')
  expect(existsSync(real)).toBe(false)
})

test('Ctrl-C while the demo starts or is filled is no failure and leaves nothing behind, not even its catalog service', async () => {
  using own = temporaryFolder()
  // It loads the client just before it fills the catalog.
  const client = () => readdirSync(own.path).map(name => join(own.path, name, 'client', 'index.js'))
  const moments = [(demo: number) => childrenOf(demo).length > 0, () => client().some(existsSync)]
  for (const isReached of moments) {
    const child = spawn(commandLine(['demo', '--host', '127.0.0.1', '--port', '0'], {}), {
      ...surroundingsOf({ environment: { TMPDIR: own.path } }),
      stdio: ['ignore', 'pipe', 'pipe'],
      // A terminal sends it to the whole group.
      detached: true,
    })
    await until(() => isReached(child.pid))
    process.kill(-child.pid, 'SIGINT')
    expect([await child.exited, await child.stdout.text(), await child.stderr.text()]).toEqual([0, '', ''])
    expect(readdirSync(own.path)).toEqual([])
  }
})

// The last test: it ends the demo of all others.
test('if its catalog service dies, the demo says so and ends with status 1', async () => {
  const [catalog = 0] = childrenOf(demo.processId)
  process.kill(catalog, 'SIGKILL')
  await until(() => demo.errors().includes('the store catalog of the demo has ended'))
  expect(await demo.stop()).toBe(1)
})

async function structuredData(id = 0) {
  const html = await (await fetch(`${demo.address}/shop/${id}`)).text()
  const [, json = ''] = /<script type="application\/ld\+json">(.*?)<\/script>/.exec(html) ?? []
  return StructuredData.parse(JSON.parse(json))
}

async function prices(): Promise<Map<number, number>> {
  const { items } = await shop().products.list({ sort: 'id', limit: 1_000, fields: ['id', 'price'] })
  return new Map(items.map(({ id, price }) => [id, price]))
}

function changes(before: Map<number, number>, after: Map<number, number>): number {
  return [...after].filter(([id, price]) => before.get(id) !== price).length
}

async function newestReview(): Promise<number> {
  const { items } = await shop().reviews.list({ sort: '-id', limit: 1, fields: ['id'] })
  return items[0]?.id ?? 0
}

async function setBusy(isBusy: boolean): Promise<unknown> {
  const headers = { 'Content-Type': 'application/json' }
  return (await fetch(`${demo.address}/busy`, { method: 'PUT', headers, body: String(isBusy) })).json()
}
