import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { spawn, spawnSync } from 'bun'
import { z } from 'zod'
import { version } from '../package.json'
import { openBrowser, PLAIN_HOST, type TestBrowser } from '../test/harness/browser/chromium.ts'
import { sqlite } from '../test/harness/engines.ts'
import { freePort } from '../test/harness/free-port.ts'
import {
  answer,
  failure,
  type Reply,
  type ScriptedServer,
  startScriptedServer,
} from '../test/harness/peers/scripted-server.ts'
import { startService } from '../test/harness/service.ts'
import { temporaryFolder } from '../test/harness/temporary-folder.ts'
import own from './package.json'

setDefaultTimeout(120_000)

const NODE = Bun.which('node') ?? 'node'

const SIZE_MAX_BYTES = 5_120

const Packed = z.tuple([z.object({ filename: z.string(), files: z.array(z.object({ path: z.string() })) })])

/** Uses the client as a program or a page does, and tells what has happened. */
const VISIT = `
async function visit({ createClient, NotFound }, address) {
  const shop = createClient(address, { timeoutMs: 30_000 })
  const { id } = await shop.products.create({ name: 'Spade', description: 'Steel', price: 30 })
  await shop.products.createMany([{ name: 'Rake', description: 'Wood', price: 12 }])
  const { price } = await shop.products.edit(id, product => ({ ...product, price: product.price * 2 }))
  const names = []
  for await (const { name } of shop.products.all({ limit: 1 })) names.push(name)
  const missing = await shop.products.get(4711).catch(error => error instanceof NotFound && error.resource)
  return { price, names, missing, deleted: (await shop.products.delete(id)).name }
}
`
const VISITED = { price: 60, names: ['Spade', 'Rake'], missing: 'Product', deleted: 'Spade' }

const folder = temporaryFolder()
const installed = join(folder.path, 'node_modules/stockroom-client')
let packed: string[] = []
let browser: TestBrowser

beforeAll(async () => {
  browser = await openBrowser()
  const { stdout } = spawnSync(['npm', 'pack', '--json', '--pack-destination', folder.path], { cwd: import.meta.dir })
  const [{ filename, files }] = Packed.parse(JSON.parse(stdout.toString()))
  packed = files.map(({ path }) => path)
  mkdirSync(installed, { recursive: true })
  spawnSync(['tar', '-xzf', join(folder.path, filename), '--strip-components=1', '-C', installed])
})
afterAll(async () => {
  await browser[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

test('the client has at most 5 kB, minified and gzipped', async () => {
  const { outputs } = await Bun.build({ entrypoints: [join(installed, 'index.js')], minify: true, target: 'browser' })
  expect(outputs).toHaveLength(1)
  const bytes = Bun.gzipSync((await outputs[0]?.arrayBuffer()) ?? '', { level: 9 }).byteLength
  expect(bytes).toBeGreaterThan(1_000)
  expect(bytes).toBeLessThanOrEqual(SIZE_MAX_BYTES)
})

test('the package of the client holds its source, types, README and license, and nothing else', () => {
  const source = ['errors.js', 'events.js', 'index.js', 'pages.js', 'requests.js', 'resources.js']
  expect(packed.toSorted()).toEqual(['LICENSE', 'README.md', ...source, 'index.d.ts', 'package.json'].toSorted())
})

test('the package of the client has the version and the license of the service, and no dependencies', () => {
  expect(own.version).toBe(version)
  expect(own).not.toHaveProperty('dependencies')
  const license = (path: string) => readFileSync(resolve(import.meta.dir, path), 'utf8')
  expect(license('LICENSE')).toBe(license('../LICENSE'))
})

test('the packed client works in Node, and prints nothing', async () => {
  await using shop = await startShop()
  const script = join(folder.path, 'visit.mjs')
  const print = "process.stdout.write(JSON.stringify(await visit(await import('stockroom-client'), process.argv[2])))"
  writeFileSync(script, VISIT + print)
  const child = spawn([NODE, script, shop.address], { stdout: 'pipe', stderr: 'pipe' })
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()])
  expect(errors).toBe('')
  expect(JSON.parse(output)).toEqual(VISITED)
})

test('in Node, too, the error of a server that cannot be reached says why', async () => {
  const script = join(folder.path, 'unreachable.mjs')
  const get = 'createClient(process.argv[2], { retries: 0 }).products.get(7).catch(error => error.message)'
  writeFileSync(script, `import { createClient } from 'stockroom-client'\nprocess.stdout.write(await ${get})`)
  const place = `127.0.0.1:${await freePort()}`
  const child = spawn([NODE, script, `http://${place}`], { stdout: 'pipe' })
  expect(await child.stdout.text()).toBe(`GET /products/7: no answer: connect ECONNREFUSED ${place}`)
})

test('the packed client works in a page of another origin, without a bundler and without HTTPS', async () => {
  await using shop = await startShop('--cors-origins', '*')
  await using site = await startSite(failure(404, 'Not Found'))
  await using tab = await browser.openTab()
  await tab.page.goto(site.address.replace('127.0.0.1', PLAIN_HOST))
  const visited = await tab.page.evaluate(`
    (async () => {
      ${VISIT}
      return visit(await import('/client/index.js'), '${shop.address}')
    })()
  `)
  expect(visited).toEqual(VISITED)
})

test('in a page of another origin, too, a write that a proxy makes a GET of, by a 303, has not been done', async () => {
  await using shop = await startShop('--cors-origins', '*')
  await using site = await startSite(failure(404, 'Not Found'))
  await using proxy = await startScriptedServer(({ method, path }) => response => {
    const isPreflight = method === 'OPTIONS'
    const allowed = isPreflight && {
      'Access-Control-Allow-Methods': '*',
      'Access-Control-Allow-Headers': 'content-type,prefer',
    }
    const headers = { 'Access-Control-Allow-Origin': '*', Location: shop.address + path, ...allowed }
    response.writeHead(isPreflight ? 204 : 303, headers).end()
  })
  await using tab = await browser.openTab()
  await tab.page.goto(site.address)
  const outcomes = await tab.page.evaluate(`
    (async () => {
      const { createClient } = await import('/client/index.js')
      const { products } = createClient('${shop.address}')
      const { id } = await products.create({ name: 'Spade', description: 'Steel', price: 30 })
      // The browser keeps it, and asks only whether it is as before.
      await products.get(id)
      const redirected = createClient('${proxy.address}').products
      const writes = [redirected.update(id, { name: 'Spade', description: 'Steel', price: 1 }), redirected.delete(id)]
      const outcomes = await Promise.allSettled(writes)
      return [...outcomes.map(({ reason }) => reason?.detail), (await products.get(id)).price]
    })()
  `)
  const detail = expect.stringContaining('as a GET, so nothing was written')
  expect(outcomes).toEqual([detail, detail, 30])
})

test('the packed client follows a feed in a page, with its own origin as address', async () => {
  const frame = (number: number) =>
    `event: product.deleted\nid: ${number}.a\ndata: {"id":"${number}.a","type":"product.deleted","data":{"id":${number}}}\n\n`
  await using site = await startSite(async (response, { path }) => {
    const since = Number.parseInt(new URL(path, site.address).searchParams.get('since') ?? '0', 10)
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write(`retry: 10\n\nevent: ready\nid: ${since}.a\ndata: {"resumed":${since > 0}}\n\n`)
    response.write(frame(since + 1) + frame(since + 2).slice(0, 50))
    await Bun.sleep(50)
    response.socket?.destroy()
  })
  await using tab = await browser.openTab()
  await tab.page.goto(site.address)
  const ids = await tab.page.evaluate(`
    (async () => {
      const { createClient } = await import('/client/index.js')
      const ids = []
      for await (const { id } of createClient('/').events()) if (ids.push(id) === 4) return ids
    })()
  `)
  expect(ids).toEqual(['0.a', '1.a', '2.a', '3.a'])
})

test('in a page, an edit that the browser sends again by itself is not done twice', async () => {
  let price = 100
  let revision = 1
  await using site = await startSite((response, asked) => {
    const { method, headers, body } = asked
    const product = () => ({ id: 7, name: 'Spade', description: 'Steel', price, reviews: [] })
    if (method === 'GET') return answer(product(), { ETag: `"${revision}.h"` })(response, asked)
    if (headers['if-match'] !== `"${revision}.h"`) return failure(412, 'Product has changed')(response, asked)
    price = JSON.parse(body).price
    revision += 1
    response.socket?.destroy()
  })
  await using tab = await browser.openTab()
  await tab.page.goto(site.address)
  const outcome = (change: string) => `
    import('/client/index.js')
      .then(({ createClient }) => createClient('/').products.edit(7, product => ({ ...product, price: ${change} })))
      .then(product => product.price, error => [error.name, error.mayBeDone])
  `
  expect(await tab.page.evaluate(outcome('product.price / 2'))).toEqual(['Conflict', true])
  expect(price).toBe(50)
  // The premise: the client has sent one PUT.
  expect(site.asked.filter(({ method }) => method === 'PUT')).toHaveLength(2)
  expect(await tab.page.evaluate(outcome('20'))).toBe(20)
})

/** A web site with the client's files. Requests for anything else of the service get `reply`. */
function startSite(reply: Reply): Promise<ScriptedServer> {
  return startScriptedServer(({ path }) => {
    if (path.startsWith('/events') || path.startsWith('/products')) return reply
    const isScript = path.startsWith('/client/')
    return response => {
      response.writeHead(200, { 'Content-Type': isScript ? 'text/javascript' : 'text/html' })
      const page = '<!doctype html><title>Shop</title>'
      response.end(isScript ? readFileSync(join(installed, path.slice('/client/'.length))) : page)
    }
  })
}

async function startShop(...flags: readonly string[]) {
  const open = new AsyncDisposableStack()
  const { url } = open.use(await sqlite.freshDatabase())
  const { address } = open.use(await startService(url, { flags }))
  return { address, [Symbol.asyncDispose]: () => open.disposeAsync() }
}
