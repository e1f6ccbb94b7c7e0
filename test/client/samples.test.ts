import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { openBrowser, type TestBrowser } from '../harness/browser/chromium.ts'
import { answer, cut, failure, inTurn, type Reply, startScriptedServer } from '../harness/peers/scripted-server.ts'
import { until } from '../harness/until.ts'

setDefaultTimeout(60_000)

const GUIDE = readFileSync(join(resolve(import.meta.dir, '../..'), 'docs/clients.md'), 'utf8')
const CREATE_ONCE = sampleOf('ts', 'async function createOnce')
const FOLLOW = sampleOf('js', 'function follow()')

let browser: TestBrowser
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser[Symbol.asyncDispose]())

test('createOnce in the guide repeats what the table above it says, always with one key, and nothing else', async () => {
  const createOnce: (url: string, resource: unknown, tries?: number) => Promise<Response> = new Function(
    `${new Bun.Transpiler({ loader: 'ts' }).transformSync(CREATE_ONCE)}; return createOnce`,
  )()
  const atOnce = { 'Retry-After': '0' }
  const passing = [cut, failure(408, ''), failure(500, ''), failure(502, ''), failure(504, '')]
  const asked = [failure(409, '', atOnce), failure(429, '', atOnce), failure(503, '', atOnce)]
  for (const reply of [...passing, ...asked]) {
    await using shop = await startScriptedServer(inTurn(reply, answer({ id: 7 })))
    expect((await createOnce(`${shop.address}/products/`, {})).status).toBe(200)
    expect(shop.asked).toHaveLength(2)
    expect(new Set(shop.asked.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
  }
  for (const status of [503, 404, 413, 415, 422]) {
    await using shop = await startScriptedServer(inTurn(failure(status, 'No')))
    expect((await createOnce(`${shop.address}/products/`, {})).status).toBe(status)
    expect(shop.asked).toHaveLength(1)
  }
  await using off = await startScriptedServer(inTurn(failure(500, '')))
  await expect(createOnce(`${off.address}/products/`, {}, 2)).rejects.toThrow('after 2 tries')
})

test('the EventSource in the guide reads the list when it begins, and again when it had given up', async () => {
  const replyOf = inTurn(streamed(false, END), streamed(true, END), failure(502, 'Bad Gateway'), streamed(false))
  const page: Reply = response => {
    response.writeHead(200, { 'Content-Type': 'text/html' })
    response.end('<!doctype html><title>Shop</title>')
  }
  let streams = 0
  await using shop = await startScriptedServer(asked => {
    if (!asked.path.startsWith('/events')) return page
    streams += 1
    return replyOf(asked, streams - 1)
  })
  await using tab = await browser.openTab()
  await tab.page.goto(shop.address)
  const sooner = FOLLOW.replace('http://localhost:8000', shop.address).replace('5_000', '50')
  await tab.page.evaluate(`
    globalThis.read = 0
    const readTheList = () => { read += 1 }
    ${sooner}
    follow()
  `)
  await until(() => streams === 4)
  await until(async () => (await tab.page.evaluate('read')) === 2)
})

const END = Symbol('end')

/** A stream with its first event, which stays open unless told otherwise. */
function streamed(isResumed: boolean, end?: typeof END): Reply {
  return response => {
    const ready = { specversion: '1.0', id: '7.a', source: '/', type: 'ready', data: { resumed: isResumed } }
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write(`retry: 10\n\nevent: ready\nid: 7.a\ndata: ${JSON.stringify(ready)}\n\n`)
    if (end) response.end()
  }
}

function sampleOf(language: string, beginning: string): string {
  const samples = [...GUIDE.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(
    ([, sample = '']) => sample,
  )
  return samples.find(sample => sample.startsWith(beginning)) ?? ''
}
