import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { screens, violations } from '../../../test/harness/browser/accessibility.ts'
import { otherSite } from '../../../test/harness/browser/other-site.ts'
import { from } from '../../../test/harness/chat/chat-app.ts'
import { chatInBrowser } from '../../../test/harness/chat/chat-in-browser.ts'
import { answered, send } from '../../../test/harness/chat/chat-page.ts'
import { startChatServer } from '../../../test/harness/chat/chat-server.ts'
import { logInAt } from '../../../test/harness/chat/login.ts'
import { awayFromMidnight } from '../../../test/harness/chat/midnight.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { storeKey } from '../../../test/harness/stored-keys.ts'

const PASSWORD = 'correct horse battery'
const TYPED = 'A long thought,\non two lines'

const place = chatInBrowser(() =>
  startChatServer(sqlite, { environment: { CHAT_PASSWORD: PASSWORD, TRUSTED_PROXIES: '1' } }),
)

test('a user logs in, asks, and logs out, which leaves nothing to the next one; a wrong password is told and can be corrected', async () => {
  await using tab = await place.openChat()
  const { page } = tab
  expect(await page.title()).toBe('Log in')
  await passwordHasFocus(page)
  await logInAt(page, 'wrong password')
  await page.getByRole('alert').filter({ hasText: 'That is not the password.' }).waitFor()
  await passwordHasFocus(page)
  await logInAt(page, PASSWORD)
  await page.getByLabel('Your message').waitFor()
  await ask(page, 'What is a spade?', 'A tool.')
  await page.getByText('A tool.').waitFor()
  await page.getByLabel('Your message').fill(TYPED)
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Password').waitFor()
  await page.goto(place.server.chat.address)
  await page.getByLabel('Password').waitFor()
  await logInAt(page, PASSWORD)
  expect(await page.getByLabel('Your message').inputValue()).toBe('')
  const unexpected = tab.complaints().filter(complaint => !complaint.includes('status of 401'))
  expect(unexpected).toEqual([])
})

test('if the session ends, a prompt goes to the log-in page, says why, and comes back into its form', async () => {
  await using tab = await place.browser.openTab()
  const { page } = tab
  await openChat(page)
  await ask(page, 'first', 'The first answer.')
  const turn = page.url()
  await page.context().clearCookies()
  await page.getByLabel('Your message').fill(TYPED)
  await page.getByLabel('Your message').press('Enter')
  await page.getByText('Your session has ended. Log in again. Your message is kept.').waitFor()
  await logInAt(page, PASSWORD)
  await page.getByText('The first answer.').waitFor()
  expect(page.url()).toBe(turn)
  expect(await page.getByLabel('Your message').inputValue()).toBe(TYPED)
  await page.getByLabel('Your message').press('Enter')
  const call = await place.server.model.nextCall()
  expect(call.prompt).toBe(TYPED)
  await call.finish()
  await page.reload()
  expect(await page.getByLabel('Your message').inputValue()).toBe('')
})

test('if the session ends while an answer cannot be reached, the page says so, and what was typed is kept', async () => {
  await using tab = await place.browser.openTab()
  const { page } = tab
  await openChat(page)
  await page.getByLabel('Your message').fill('a long answer')
  await page.getByLabel('Your message').press('Enter')
  const call = await place.server.model.nextCall()
  await call.send('The beginning')
  await page.getByText('The beginning').waitFor()
  await page.getByLabel('Your message').fill(TYPED)
  await page.context().clearCookies()
  await page.getByRole('button', { name: 'Stop' }).click()
  const link = page.getByRole('link', { name: 'Log in again' })
  await link.waitFor()
  expect(await page.locator('#trouble').textContent()).toBe(
    'Your session has ended. Log in again. Your message is kept.',
  )
  // Another message takes its place, and the next attempt brings it back.
  await page.getByLabel('Your message').press('Enter')
  await page.getByText('Wait for this answer, or stop it.').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await link.click({ timeout: 5_000 })
  await logInAt(page, PASSWORD)
  await page.getByText('The beginning').waitFor()
  expect(await page.getByLabel('Your message').inputValue()).toBe(TYPED)
  await call.finish()
  await answered(page)
})

test('if the session ends before an answer begins, the page says so and offers the log-in', async () => {
  await using tab = await place.browser.openTab({ hasRoutes: true })
  const { page } = tab
  await openChat(page)
  await page.route('**/chatstream/*', async route => {
    await page.context().clearCookies()
    await route.abort()
  })
  await page.getByLabel('Your message').fill('unheard')
  await page.getByLabel('Your message').press('Enter')
  await page.getByText('Your session has ended. Log in again. Your message is kept.').waitFor()
  await page.unrouteAll()
  await page.getByRole('link', { name: 'Log in again' }).click()
  await logInAt(page, PASSWORD)
  await (await place.server.model.nextCall()).answer('Heard after all.')
  await page.getByText('Heard after all.').waitFor()
})

test('without scripts, a prompt after the end of the session comes back too', async () => {
  await using tab = await place.browser.openTab({ javaScriptEnabled: false })
  const { page } = tab
  await openChat(page)
  await page.getByLabel('Your message').fill(TYPED)
  await page.context().clearCookies()
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('Your session has ended. Log in again. Your message is kept.').waitFor()
  await logInAt(page, PASSWORD)
  expect(await page.getByLabel('Your message').inputValue()).toBe(TYPED)
  await page.getByRole('button', { name: 'Send' }).click()
  const call = await place.server.model.nextCall()
  expect(call.prompt).toBe(TYPED)
  await call.answer('Kept.')
  await page.getByText('Kept.').waitFor()
})

test('a browser that keeps no cookies is told why it is back at the log-in page', async () => {
  await using tab = await place.openChat({ hasRoutes: true })
  const { page } = tab
  await page.route('**/login', async route => {
    const response = await route.fetch({ maxRedirects: 0 })
    await page.context().clearCookies()
    const { 'set-cookie': _, ...headers } = response.headers()
    await route.fulfill({ response, headers })
  })
  await logInAt(page, PASSWORD)
  await page.getByText('Your browser has not kept the session. Allow cookies, and log in again.').waitFor()
  await page.unrouteAll()
  await logInAt(page, PASSWORD)
  await page.getByLabel('Your message').waitFor()
})

test('a page that is loaded again after the end of the session leads to the log-in page, which blames no cookies', async () => {
  await using tab = await place.browser.openTab()
  const { page } = tab
  await openChat(page)
  await page.context().clearCookies()
  await page.reload()
  await page.getByLabel('Password').waitFor()
  expect(await page.getByRole('status').allTextContents()).toEqual([])
  await logInAt(page, PASSWORD)
  await page.getByLabel('Your message').waitFor()
  await page.goto(`${place.server.chat.address}/chat/no-such-turn`)
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Password').waitFor()
  await page.goBack()
  await page.goBack()
  await page.getByLabel('Password').waitFor()
  expect(await page.getByRole('status').allTextContents()).toEqual([])
})

test('a link on another site opens the chat at once if there is a session, otherwise the log-in page, which leads to where the link led', async () => {
  const linked = `${place.server.chat.address}/chat/no-such-turn`
  await using site = otherSite(linked)
  await using tab = await place.browser.openTab()
  const { page } = tab
  await page.goto(site.address)
  await page.getByRole('link').click()
  await page.getByLabel('Password').waitFor()
  expect(await page.getByRole('status').count()).toBe(0)
  await logInAt(page, PASSWORD)
  await page.getByText('This chat is no longer available.').waitFor()
  expect(page.url()).toBe(linked)
  await page.goto(site.address)
  await page.getByRole('link').click()
  await page.getByText('This chat is no longer available.').waitFor()
  expect(page.url()).toBe(linked)
})

test('behind a proxy that speaks https, the cookie is secure and opens the chat', async () => {
  await using tab = await place.browser.openTab({ extraHTTPHeaders: { 'X-Forwarded-Proto': 'https' } })
  const { page } = tab
  await openChat(page)
  const [cookie] = await page.context().cookies()
  expect(cookie).toMatchObject({
    name: '__Host-stockroom-chat',
    secure: true,
    httpOnly: true,
    sameSite: 'Strict',
    path: '/',
  })
})

test('a user logs in with a key, follows a link of another site, and is told when the key has reached its bound', async () => {
  await awayFromMidnight()
  await using server = await startChatServer(sqlite, { environment: { AUTH: 'keys', CHAT_ANSWERS_PER_DAY: '1' } })
  const key = await storeKey(server.databaseUrl, 'visitor', 'write')
  await using tab = await place.browser.openTab()
  const { page } = tab
  await page.goto(server.chat.address)
  await page.getByLabel('Access key').waitFor()
  await logInAt(page, key)
  await (await send(page, 'first', server)).answer('The first answer.')
  await page.getByText('The first answer.').waitFor()
  await page.locator('#chat:not([sse-connect])').waitFor({ state: 'attached' })
  const turn = page.url()
  await using site = otherSite(turn)
  await page.goto(site.address)
  await page.getByRole('link').click()
  await page.getByText('The first answer.').waitFor()
  await page.waitForLoadState()
  await page.getByLabel('Your message').fill('second')
  await page.getByLabel('Your message').press('Enter')
  await page.getByText('Your key has reached its daily limit of 1 answer.').waitFor()
})

test('axe finds nothing wrong with the log-in page and the way out, on a phone and a desktop, light and dark', async () => {
  for (const [index, options] of screens().entries()) {
    // Each from an address of its own, because wrong passwords are counted.
    await using tab = await place.browser.openTab({ ...options, extraHTTPHeaders: from(`198.51.100.${index}`) })
    const { page } = tab
    await page.goto(`${place.server.chat.address}/login?ended&next=/`)
    expect(await violations(page), `before, ${JSON.stringify(options)}`).toEqual([])
    await logInAt(page, 'wrong password')
    await page.getByRole('alert').waitFor()
    expect(await violations(page), `after a wrong password, ${JSON.stringify(options)}`).toEqual([])
    await logInAt(page, PASSWORD)
    await page.getByRole('button', { name: 'Log out' }).waitFor()
    expect(await violations(page), `inside, ${JSON.stringify(options)}`).toEqual([])
  }
})

async function openChat(page: Page): Promise<void> {
  await page.goto(place.server.chat.address)
  await logInAt(page, PASSWORD)
  await page.getByLabel('Your message').waitFor()
}

async function ask(page: Page, prompt: string, answer: string): Promise<void> {
  await page.getByLabel('Your message').fill(prompt)
  await page.getByLabel('Your message').press('Enter')
  await (await place.server.model.nextCall()).answer(answer)
  await answered(page)
}

/** Resolves when it has: a browser gives the focus by itself only once it draws the page. */
function passwordHasFocus(page: Page): Promise<void> {
  return page.locator('#password:focus').waitFor()
}
