import { expect, test } from 'bun:test'
import { chatInBrowser } from '../../test/harness/chat/chat-in-browser.ts'
import { answered, expectLastMessages, messages, send } from '../../test/harness/chat/chat-page.ts'
import { openHttpProxy } from '../../test/harness/tcp-proxy.ts'
import { until } from '../../test/harness/until.ts'

/** After this time without an event, the page asks whether the answer has ended. */
const LONG_SILENCE_MS = 60_000

const open = chatInBrowser()

test('a reload during an answer resumes it with the text so far, and the model is not asked again', async () => {
  await using tab = await open.openChat()
  const { page } = tab
  const call = await send(page, 'reloaded', open.server)
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
  expect(tab.complaints()).toEqual([])
})

test('a connection cut during an answer recovers by itself, the page says so meanwhile, and nothing is missing', async () => {
  await using proxy = await openHttpProxy(open.server.chat.address)
  await using tab = await open.browser.openTab()
  const { page } = tab
  await page.goto(proxy.address)
  const call = await send(page, 'cut off', open.server)
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

test('a connection that dies without a word does not keep the end of the answer from the page, nor the next message', async () => {
  await using proxy = await openHttpProxy(open.server.chat.address)
  await using tab = await open.browser.openTab({ isNew: true })
  const { page } = tab
  await page.clock.install()
  await page.goto(proxy.address)
  const call = await send(page, 'died', open.server)
  await call.send('one ')
  await page.getByText('one', { exact: true }).waitFor()
  proxy.freeze()
  proxy.replace()
  await call.send('two')
  await call.finish()
  await until(async () => {
    await page.clock.fastForward(LONG_SILENCE_MS)
    // The page may first ask over another dead connection.
    const shown = page.getByText('one two').waitFor({ timeout: 2_000 })
    return shown.then(() => true).catch(() => false)
  })
  await answered(page)
  await (await send(page, 'next', open.server)).answer('Here I am.')
  await answered(page)
  await expectLastMessages(page, ['You', 'next'], ['Assistant', 'Here I am.'])
  expect(callsFor('died')).toBe(1)
})

test('an answer that cannot begin for now can be stopped at once, however long the page waits before it tries again', async () => {
  await using tab = await open.browser.openTab({ hasRoutes: true, isNew: true })
  const { page } = tab
  await page.route('**/chatstream/*', route => route.fulfill({ status: 503 }))
  // After a refusal, the page does not try again by itself.
  await page.addInitScript(
    'const later = setTimeout; setTimeout = (work, ms, ...more) => ms < 500 && later(work, ms, ...more)',
  )
  await page.goto(open.server.chat.address)
  await page.getByLabel('Your message').fill('refused')
  await page.keyboard.press('Enter')
  await page.getByText('Too many answers are under way.').waitFor()
  await page.unroute('**/chatstream/*')
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('The answer was stopped.').waitFor({ timeout: 5_000 })
  await answered(page)
  expect(await page.locator('#trouble').textContent()).toBe('')
  expect(callsFor('refused')).toBe(0)
})

test('the page requests nothing more once an answer has ended', async () => {
  await using tab = await open.openChat()
  const { page } = tab
  await (await send(page, 'over', open.server)).answer('It is over.')
  await answered(page)
  const before = tab.requests().length
  // Longer than a browser waits before it reopens a stream.
  await page.waitForTimeout(4_000)
  expect(tab.requests().slice(before)).toEqual([])
  expect(tab.complaints()).toEqual([])
})

test('two tabs on one turn show the same answer, from one call', async () => {
  await using first = await open.browser.openTab()
  await using second = await open.browser.openTab({ viewport: { width: 800, height: 600 } })
  await first.page.goto(open.server.chat.address)
  const call = await send(first.page, 'two tabs', open.server)
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

test('if a proxy answers a message with a page of its own, the page says so, and keeps what was typed', async () => {
  for (const status of [200, 503]) {
    await using tab = await open.openChat({ hasRoutes: true })
    const { page } = tab
    const body = '<html><body><h1>Service Unavailable</h1></body></html>'
    await page.route('**/chat/*', route => route.fulfill({ status, contentType: 'text/html', body }))
    await page.getByLabel('Your message').fill('Is anybody there?')
    await page.keyboard.press('Enter')
    await page.getByText('That did not work. Your message is still here: try again.').waitFor({ timeout: 5_000 })
    expect(await page.getByLabel('Your message').inputValue()).toBe('Is anybody there?')
    await page.unroute('**/chat/*')
    await page.keyboard.press('Enter')
    await (await open.server.model.nextCall()).answer('Yes.')
    await answered(page)
    await expectLastMessages(page, ['You', 'Is anybody there?'], ['Assistant', 'Yes.'])
  }
})

test('a message that is too long for a request is refused with this reason, and stays in the field', async () => {
  await using tab = await open.openChat()
  const { page } = tab
  // Three bytes each, and nine in a form.
  const text = '日'.repeat(130_000)
  await page.getByLabel('Your message').fill(text)
  await page.keyboard.press('Enter')
  await page.getByText('Your message is too long. It is still here: shorten it.').waitFor()
  expect((await page.getByLabel('Your message').inputValue()).length).toBe(text.length)
})

test('the page says that a server cannot be reached, and keeps what was typed', async () => {
  await using proxy = await openHttpProxy(open.server.chat.address)
  await using tab = await open.browser.openTab()
  const { page } = tab
  await page.goto(proxy.address)
  await proxy[Symbol.asyncDispose]()
  await page.getByLabel('Your message').fill('Is anybody there?')
  await page.keyboard.press('Enter')
  await page.getByText('The server cannot be reached.').waitFor()
  expect(await page.getByLabel('Your message').inputValue()).toBe('Is anybody there?')
})

function callsFor(prompt: string): number {
  return open.server.model.calls.filter(call => call.prompt === prompt).length
}
