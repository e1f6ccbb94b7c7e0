import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { openBrowser, PLAIN_HOST, type TestBrowser } from '../../test/harness/browser/chromium.ts'
import { reusingTabs } from '../../test/harness/browser/reused-tabs.ts'
import { answered, send } from '../../test/harness/chat/chat-page.ts'
import { type ChatServer, startChatServer } from '../../test/harness/chat/chat-server.ts'
import { beginTurn } from '../../test/harness/chat/turns.ts'
import { startHostRewritingProxy } from '../../test/harness/peers/host-rewriting-proxy.ts'

/** Unpacking and starting a browser takes long on a busy machine. */
const BROWSER_TIMEOUT_MS = 120_000

setDefaultTimeout(BROWSER_TIMEOUT_MS)

const FORGED = "body: new URLSearchParams({ user_prompt: 'forged' })"

/** A stream that starts goes on; a refusal ends at once. */
const GIVE_UP_MS = 3_000

let browser: TestBrowser
let server: ChatServer
/** The chat under a name that browsers do not trust, as on a local network, where they send no `Sec-Fetch-Site`. */
let plainAddress: string
/** A page of another origin. */
let otherSite: Bun.Server<undefined>

beforeAll(async () => {
  browser = reusingTabs(await openBrowser())
  server = await startChatServer()
  plainAddress = `http://${PLAIN_HOST}:${new URL(server.chat.address).port}`
  otherSite = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () =>
      new Response('<!doctype html><title>Another site</title>', { headers: { 'Content-Type': 'text/html' } }),
  })
}, BROWSER_TIMEOUT_MS)
afterAll(async () => {
  await otherSite.stop(true)
  await server[Symbol.asyncDispose]()
  await browser[Symbol.asyncDispose]()
}, BROWSER_TIMEOUT_MS)

/** A loopback address, to which browsers send `Sec-Fetch-Site`; an untrusted name; and the same host on another port. */
const attackers = () => [
  { from: `http://127.0.0.1:${otherSite.port}`, to: plainAddress },
  { from: `http://${PLAIN_HOST}:${otherSite.port}`, to: plainAddress },
  { from: `http://localhost:${otherSite.port}`, to: server.chat.address },
  { from: `http://127.0.0.1:${otherSite.port}`, to: server.chat.address },
]

test('a page of another origin cannot send a prompt: neither by a form nor by a script', async () => {
  for (const [place, { from, to }] of attackers().entries()) {
    await using tab = await browser.openTab()
    const { page } = tab
    await page.goto(from)
    await request(page, `${to}/chat/scripted-${place}`, { method: 'POST', body: FORGED })
    const [response] = await Promise.all([page.waitForNavigation(), submitForm(page, `${to}/chat/posted-${place}`)])
    expect(response?.status(), from).toBe(403)
    for (const reqId of [`scripted-${place}`, `posted-${place}`]) {
      expect((await server.chat.get(`/chat/${reqId}`)).status, `${reqId} from ${from} to ${to}`).toBe(404)
    }
  }
})

test('a page of another origin cannot begin an answer: neither by an image, a script nor a frame', async () => {
  for (const [place, { from, to }] of attackers().entries()) {
    const reqId = `begun-${place}`
    await server.chat.post(reqId, 'begun by another site')
    await using tab = await browser.openTab()
    const { page } = tab
    await page.goto(from)
    for (const path of [`/chatstream/${reqId}`, `/chat/${reqId}/answer`]) {
      await image(page, to + path)
      await request(page, to + path, { method: 'GET' })
      await request(page, to + path, { method: 'HEAD' })
      await frame(page, to + path)
    }
    expect(await server.chat.status(reqId), `from ${from} to ${to}`).toBe('{"status":"new"}')
  }
  expect(server.model.calls.filter(call => call.prompt === 'begun by another site')).toEqual([])
})

test('a page of another origin cannot stop an answer', async () => {
  for (const [place, { from, to }] of attackers().entries()) {
    const reqId = `going-${place}`
    const { listener, call } = await beginTurn(server.chat, server.model, reqId, 'goes on')
    await call.send('one ')
    await listener.until('one')
    await using tab = await browser.openTab()
    const { page } = tab
    await page.goto(from)
    await request(page, `${to}/chat/${reqId}/stop`, { method: 'POST' })
    const refused = page.waitForResponse(response => response.status() === 403)
    await submitForm(page, `${to}/chat/${reqId}/stop`)
    await refused
    await call.send('two')
    await call.finish()
    expect(await listener.end()).toContain('<p>one two</p>')
  }
})

test('over plain HTTP under a name of its own, the page works: prompt, answer, stop', async () => {
  await using tab = await browser.openTab()
  const { page } = tab
  await page.goto(plainAddress)
  await wholeTurnAndStop(page)
})

test('over plain HTTP without scripts, the plain form leads to the answer', async () => {
  await using tab = await browser.openTab({ javaScriptEnabled: false })
  const { page } = tab
  await page.goto(plainAddress)
  await page.getByLabel('Your message').fill('no scripts')
  await page.getByRole('button', { name: 'Send' }).click()
  await (await server.model.nextCall()).answer('No scripts needed.')
  await page.getByText('No scripts needed.').waitFor()
})

test('behind a proxy that rewrites Host, the page works if the browser says that the origin is the same', async () => {
  await using proxy = startHostRewritingProxy(server.chat.address)
  await using tab = await browser.openTab()
  const { page } = tab
  await page.goto(proxy.address)
  await wholeTurnAndStop(page)
})

async function wholeTurnAndStop(page: Page): Promise<void> {
  const first = await send(page, 'first', server)
  await first.answer('The first answer.')
  await page.getByText('The first answer.').waitFor()
  await answered(page)
  const call = await send(page, 'second', server)
  await call.send('The beginning')
  await page.getByText('The beginning').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await call.closed
  await page.getByText('The answer was stopped.').waitFor()
}

/** Resolves when the server has answered, which the page cannot read. */
function request(page: Page, url: string, { method, body = '' }: { method: string; body?: string }): Promise<void> {
  return withinPage(
    page,
    `fetch(url, { method: '${method}', mode: 'no-cors', ${body} }).catch(() => {}).then(done)`,
    url,
  )
}

/** Resolves when the image has loaded or, as here, failed. */
function image(page: Page, url: string): Promise<void> {
  return withinPage(page, 'const image = new Image(); image.onload = image.onerror = done; image.src = url', url)
}

function frame(page: Page, url: string): Promise<void> {
  const frame = "document.body.appendChild(document.createElement('iframe'))"
  return withinPage(page, `const frame = ${frame}; frame.onload = done; frame.src = url`, url)
}

async function withinPage(page: Page, script: string, url: string): Promise<void> {
  await page.evaluate(`new Promise(resolve => {
    const url = ${JSON.stringify(url)}
    const done = () => resolve()
    setTimeout(done, ${GIVE_UP_MS})
    ${script}
  })`)
}

async function submitForm(page: Page, action: string): Promise<void> {
  await page.evaluate(`
    const form = document.createElement('form')
    form.method = 'post'
    form.action = ${JSON.stringify(action)}
    form.innerHTML = '<input name="user_prompt" value="forged">'
    document.body.append(form)
    form.submit()
  `)
}
