import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { spawn } from 'bun'
import { sqlite } from '../test/harness/engines.ts'
import { type Asked, answer, failure, type Reply, startScriptedServer } from '../test/harness/peers/scripted-server.ts'
import { startService } from '../test/harness/service.ts'
import { type TemporaryFolder, temporaryFolder } from '../test/harness/temporary-folder.ts'
import { createClient } from './index.js'

setDefaultTimeout(120_000)

const PROJECT = resolve(import.meta.dir, '..')
const COMPILER = join(PROJECT, 'node_modules/typescript-native/bin/tsc')
const NODE = Bun.which('node') ?? 'node'

const README = await Bun.file(join(import.meta.dir, 'README.md')).text()
const LINES = linesUnder('In forty lines')
const FORM = linesUnder('A form that overwrites nobody')

/** What the lines leave to their reader; ends the loop when it has shown a price. */
const BEFORE = `
import { createClient as connect } from 'stockroom/client'
const orderId = 'order-7'
const lines = [{ name: 'Rake', description: 'Wood', price: 12, category_id: 3 }, { name: 'Hose', description: 'Rubber', price: 20 }]
const leaving = new AbortController()
const { signal } = leaving
/** @type {number[]} */
const shown = []
/** @type {string | undefined} */
let saved
const reloadEverything = async () => {}
/** @param {import('stockroom/client').Product} current */
const showBoth = current => current.price
/**
 * @param {string | number | undefined} field
 * @param {string} problem
 */
const showBeside = (field, problem) => \`\${field}: \${problem}\`
/** @param {number} price */
const show = price => {
  shown.push(price)
  leaving.abort()
}
const busy = setInterval(() => connect('https://shop.example').products.edit(7, it => ({ ...it, description: 'Iron' })), 200)
`
const AFTER = `
clearInterval(busy)
${FORM}
console.log(JSON.stringify({ names: page.items.map(({ name }) => name), total: page.total, second: second?.items.length, count,
  bands: price.bands.map(({ count }) => count), stars: stars.average, shown, saved }))
`

test('the lines of the README compile', async () => {
  expect(LINES.split('\n').length).toBeGreaterThan(30)
  expect(FORM).toContain('ifMatch')
  using folder = folderWith(LINES)
  const compilerOptions = {
    // What most projects have.
    ...{
      strict: true,
      noEmit: true,
      allowJs: true,
      checkJs: true,
      module: 'nodenext',
      target: 'es2022',
      skipLibCheck: false,
    },
    ...{ lib: ['es2022', 'dom', 'dom.iterable'], types: ['node'], typeRoots: [join(PROJECT, 'node_modules/@types')] },
  }
  writeFileSync(join(folder.path, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['lines.mjs'] }))
  expect(await run(COMPILER, '--singleThreaded', '--project', folder.path, '--pretty', 'false')).toEqual({
    output: '',
    errors: '',
    status: 0,
  })
})

test('the lines of the README do what they say, in Node, with a server that answers as specified', async () => {
  await using shop = await startScriptedServer(specifiedShop())
  using folder = folderWith(LINES.replace('https://shop.example', shop.address), shop.address)
  const { output, errors, status } = await run(NODE, join(folder.path, 'lines.mjs'))
  expect({ errors, status }).toEqual({ errors: '', status: 0 })
  const [missing, rest = ''] = output.split('\n')
  expect(missing).toBe('Product')
  expect(JSON.parse(rest)).toEqual({
    names: ['Spade', 'Spade with a long handle'],
    total: 412,
    second: 1,
    count: 412,
    bands: [3, 400, 9],
    stars: 4.2,
    shown: [29],
    saved: '1043.k3f9',
  })
  const saved = shop.asked.filter(({ method, body }) => method === 'PUT' && JSON.parse(body).price === 29)
  expect(saved.map(({ headers }) => headers['if-match'])).toEqual(['"11rgoq3hlk.3pkdrz4m1tw2u"'])
  const created = shop.asked.filter(({ method }) => method === 'POST')
  expect(created.map(({ path, headers }) => `${path} ${headers['content-type']}`)).toEqual([
    '/products/ application/json',
    '/products/3/products application/json',
    '/products/ application/x-ndjson',
  ])
  expect(created[1]?.headers['idempotency-key']).toBe('"order-7"')
})

// Becomes a test as soon as the service has search, facets, ratings and the feed.
test('the lines of the README do what they say, in Node, with the service', async () => {
  await using database = await sqlite.freshDatabase()
  await using service = await startService(database.url)
  const shop = createClient(service.address)
  for (let number = 1; number <= 7; number += 1)
    await shop.categories.create({ name: `Shelf ${number}`, description: 'Tools' })
  const prices = Array.from({ length: 120 }, (_, index) => index + 1)
  await shop.products.createMany(
    prices.map(price => ({ name: `Spade ${price}`, description: 'Steel', price, category_id: 1 + (price % 7) })),
  )
  const { id: user_id } = await shop.users.create({
    name: 'Ada',
    email: 'ada@mail.example',
    avatar: '',
    password: 'secret',
  })
  await shop.reviews.create({ product_id: 7, user_id, rating: 5, comment: 'Digs well' })
  using folder = folderWith(LINES.replace('https://shop.example', service.address), service.address)
  const { output, errors, status } = await run(NODE, join(folder.path, 'lines.mjs'))
  expect({ errors, status }).toEqual({ errors: '', status: 0 })
  const [missing, rest = ''] = output.split('\n')
  expect(missing).toBe('Product')
  const summary = JSON.parse(rest)
  expect(summary).toMatchObject({ total: 120, second: 20, count: 120, bands: [9, 40, 71], stars: 5, shown: [6.3] })
  expect(summary.names[0]).toBe('Spade 7')
  expect(summary.names).toHaveLength(100)
  expect(await Array.fromAsync(shop.products.all({ skip: 120, limit: 100 }))).toHaveLength(4)
})

function linesUnder(heading: string): string {
  return new RegExp(`## ${heading}\\n[^#]*?\`\`\`ts\\n(.*?)\`\`\``, 's').exec(README)?.[1] ?? ''
}

/** A project with the lines that has our package installed. */
function folderWith(lines: string, address = 'https://shop.example'): TemporaryFolder {
  const folder = temporaryFolder()
  mkdirSync(join(folder.path, 'node_modules'))
  symlinkSync(PROJECT, join(folder.path, 'node_modules/stockroom'))
  writeFileSync(join(folder.path, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder.path, 'lines.mjs'), BEFORE.replace('https://shop.example', address) + lines + AFTER)
  return folder
}

/** Answers the requests of the lines with the examples of the specification. */
function specifiedShop(): (asked: Asked) => Reply {
  const spade = { id: 7, name: 'Spade', description: 'Steel', price: 34.5, reviews: [] }
  const rating = { average: 4.2, count: 5, histogram: [0, 0, 1, 2, 2], score: 3.6 }
  const hit = { id: 7, name: 'Spade', price: 34.5, rating }
  const total = { 'X-Total-Count': '412' }
  const next =
    '/products/?cursor=WzEsMTIzLDIsN10&limit=100&q=spade&sort=-rating&count=1000&fields=id%2Cname%2Cprice%2Crating'
  const facets = {
    count: 412,
    category_id: [
      { value: 3, name: 'Garden', count: 120 },
      { value: 0, name: null, count: 4 },
    ],
    price: {
      ...{ min: 1.5, max: 99 },
      bands: [
        { min: null, max: 10, count: 3 },
        { min: 10, max: 50, count: 400 },
        { min: 50, max: null, count: 9 },
      ],
    },
    rating: [{ min: 4, count: 200 }],
  }
  const replies: Record<string, Reply> = {
    'GET /products/?q=spade&sort=-rating&count=1000&fields=id,name,price,rating': answer(
      [hit, { ...hit, id: 8, name: 'Spade with a long handle' }],
      { ...total, Link: `<${next}>; rel="next"` },
    ),
    [`GET ${decodeURIComponent(next)}`]: answer([{ ...hit, id: 9 }], total),
    'GET /products/?category_id=3,7': answer([spade, { ...spade, id: 8, price: 120 }], {
      Link: '</never>; rel="next"',
    }),
    'GET /facets/products?q=spade&price_bands=10,50': answer(facets),
    'GET /ratings/products/7': answer(rating),
    'POST /products/': (response, asked) =>
      answer(asked.body.includes('\n') ? { created: 2, ids: [9, 10] } : spade)(response, asked),
    'POST /products/3/products': answer({ ...spade, id: 8 }),
    'GET /products/7': answer(spade, { ETag: '"11rgoq3hlk.3pkdrz4m1tw2u"' }),
    'PUT /products/7': answer(spade),
    'GET /products/4711': failure(404, 'Product not found'),
    'GET /events?types=product': response => {
      const data = { id: 7, name: 'Spade', price: 29, category_id: 3 }
      const event = {
        specversion: '1.0',
        id: '1043.k3f9',
        source: '/',
        type: 'product.updated',
        subject: '/products/7',
        data,
      }
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write('retry: 1000\n\nevent: ready\nid: 1042.k3f9\ndata: {"resumed":false}\n\n')
      response.write(`event: product.updated\nid: 1043.k3f9\ndata: ${JSON.stringify(event)}\n\n`)
    },
  }
  return ({ method, path }) => replies[`${method} ${decodeURIComponent(path)}`] ?? failure(404, 'Not Found')
}

async function run(...command: readonly string[]): Promise<{ output: string; errors: string; status: number }> {
  const child = spawn([...command], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe', cwd: PROJECT })
  const [output, errors, status] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { output, errors, status }
}
