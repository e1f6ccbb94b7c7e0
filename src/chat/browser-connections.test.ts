import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { openBrowser, type TestBrowser } from '../../test/harness/browser/chromium.ts'
import { answered, complaints, expectLastMessages, messages } from '../../test/harness/chat/chat-page.ts'
import { type ChatServer, startChatServer } from '../../test/harness/chat/chat-server.ts'
import { startCuttingProxy } from '../../test/harness/peers/cutting-proxy.ts'
import type { ModelCall } from '../../test/harness/peers/model-server.ts'

/** Unpacking and starting a browser takes long on a busy machine. */
const BROWSER_TIMEOUT_MS = 60_000

setDefaultTimeout(BROWSER_TIMEOUT_MS)

let browser: TestBrowser
let server: ChatServer
beforeAll(async () => {
  browser = await openBrowser()
  server = await startChatServer()
}, BROWSER_TIMEOUT_MS)
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await browser[Symbol.asyncDispose]()
}, BROWSER_TIMEOUT_MS)

test('a reload during an answer resumes it with the text so far, and the model is not asked again', async () => {
  await using tab = await browser.openTab()
  const { page } = tab
  await page.goto(server.chat.address)
  const call = await send(page, 'reloaded')
  await call.send('one ')
  await page.getByText('one', { exact: true }).waitFor()
  await page.reload()
  await page.getByText('one', { exact: true }).waitFor()
  await call.send('two')
  await call.finish()
  await answered(page)
  expect(await messages(page)).toEqual([
    ['You', 'reloaded'],
    ['Assistant', 'one two'],
  ])
  await page.reload()
  expect(await messages(page)).toEqual([
    ['You', 'reloaded'],
    ['Assistant', 'one two'],
  ])
  expect(callsFor('reloaded')).toBe(1)
  expect(complaints(tab)).toEqual([])
})

test('a connection cut during an answer recovers by itself, the page says so meanwhile, and nothing is missing', async () => {
  await using proxy = await startCuttingProxy(server.chat.address)
  await using tab = await browser.openTab()
  const { page } = tab
  await page.goto(proxy.address)
  const call = await send(page, 'cut off')
  await call.send('one ')
  await page.getByText('one', { exact: true }).waitFor()
  proxy.cut()
  await page.getByText('The connection is lost.').waitFor()
  await call.send('two ')
  await page.getByText('one two').waitFor()
  expect(await page.locator('#trouble').textContent()).toBe('')
  await call.send('three')
  await call.finish()
  await answered(page)
  await expectLastMessages(page, ['You', 'cut off'], ['Assistant', 'one two three'])
  expect(callsFor('cut off')).toBe(1)
})

test('the page requests nothing more once an answer has ended', async () => {
  await using tab = await browser.openTab()
  const { page } = tab
  await page.goto(server.chat.address)
  await (await send(page, 'over')).answer('It is over.')
  await answered(page)
  const before = tab.requests().length
  // Longer than a browser waits before it reopens a stream.
  await page.waitForTimeout(4_000)
  expect(tab.requests().slice(before)).toEqual([])
  expect(complaints(tab)).toEqual([])
})

test('two tabs on one turn show the same answer, from one call', async () => {
  await using first = await browser.openTab()
  await using second = await browser.openTab({ viewport: { width: 800, height: 600 } })
  await first.page.goto(server.chat.address)
  const call = await send(first.page, 'two tabs')
  await call.send('one ')
  await first.page.getByText('one', { exact: true }).waitFor()
  await second.page.goto(first.page.url())
  await second.page.getByText('one', { exact: true }).waitFor()
  await call.send('two')
  await call.finish()
  for (const { page } of [first, second]) {
    await answered(page)
    await expectLastMessages(page, ['You', 'two tabs'], ['Assistant', 'one two'])
  }
  expect(callsFor('two tabs')).toBe(1)
})

test('the page says that a server cannot be reached, and keeps what was typed', async () => {
  await using proxy = await startCuttingProxy(server.chat.address)
  await using tab = await browser.openTab()
  const { page } = tab
  await page.goto(proxy.address)
  await proxy[Symbol.asyncDispose]()
  await page.getByLabel('Your message').fill('Is anybody there?')
  await page.keyboard.press('Enter')
  await page.getByText('The server cannot be reached.').waitFor()
  expect(await page.getByLabel('Your message').inputValue()).toBe('Is anybody there?')
})

/** Types a message and sends it; the test decides what the model answers. */
async function send(page: Page, text: string): Promise<ModelCall> {
  await page.getByLabel('Your message').fill(text)
  await page.keyboard.press('Enter')
  return server.model.nextCall()
}

function callsFor(prompt: string): number {
  return server.model.calls.filter(call => call.prompt === prompt).length
}
