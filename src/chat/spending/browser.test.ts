import { beforeEach, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { screens, violations } from '../../../test/harness/browser/accessibility.ts'
import { holdBack } from '../../../test/harness/browser/held-answers.ts'
import { chatInBrowser } from '../../../test/harness/chat/chat-in-browser.ts'
import { answered, messages, send } from '../../../test/harness/chat/chat-page.ts'
import { startChatServer } from '../../../test/harness/chat/chat-server.ts'
import { awayFromMidnight } from '../../../test/harness/chat/midnight.ts'
import { sqlite } from '../../../test/harness/engines.ts'

/** The day ends at midnight in UTC, which is half past five in Kolkata and one or two o'clock in Berlin. */
const INDIA = { timezoneId: 'Asia/Kolkata', locale: 'en-GB' }

const REACHED = 'Your network has reached its daily limit of 1 answer.'

/** Each address has one answer; a test takes the one of an address of its own. */
const place = chatInBrowser(() =>
  startChatServer(sqlite, { environment: { CHAT_ANSWERS_PER_DAY: '1', TRUSTED_PROXIES: '1' } }),
)

beforeEach(awayFromMidnight)

const at = (address: string) => ({ extraHTTPHeaders: { 'X-Forwarded-For': address } })

test('when its answers are used up, the page says so, tells when they begin again by the clock of its user, and keeps the text', async () => {
  await using tab = await place.openChat({ ...INDIA, ...at('203.0.113.1') })
  const { page } = tab
  await useUp(page)
  for (let time = 0; time < 2; time += 1) {
    await page.getByLabel('Your message').fill('two\nlines')
    await page.getByLabel('Your message').press('Enter')
    const alert = page.getByRole('alert').filter({ hasText: REACHED })
    await alert.waitFor()
    expect(await alert.textContent()).toMatch(/You can ask again at 05:30, in (\d+ hours?)?( and )?(\d+ minutes?)?\.$/)
    expect(await page.getByLabel('Your message').inputValue()).toBe('two\nlines')
    expect(await page.getByText('The only answer.').count()).toBe(1)
    expect(await messages(page)).toHaveLength(5)
  }
  expect(tab.complaints().filter(complaint => !complaint.includes('status of 429'))).toEqual([])
})

test('without scripts, the page says the same in UTC', async () => {
  await place.server.chat.post('used-up', 'first', at('203.0.113.2').extraHTTPHeaders)
  const listener = place.server.chat.listen('used-up', at('203.0.113.2').extraHTTPHeaders)
  await (await place.server.model.nextCall()).answer('The only answer.')
  await listener.end()
  await using tab = await place.openChat({ ...INDIA, ...at('203.0.113.2'), javaScriptEnabled: false })
  const { page } = tab
  await page.getByLabel('Your message').fill('two\nlines')
  await page.getByRole('button', { name: 'Send' }).click()
  const alert = page.getByRole('alert').filter({ hasText: REACHED })
  await alert.waitFor()
  expect(await alert.textContent()).toContain('You can ask again at 00:00 UTC, in ')
  expect(await page.getByLabel('Your message').inputValue()).toBe('two\nlines')
})

test('a page whose answer may no longer begin says so, whether it was open before or is opened then', async () => {
  await using first = await place.browser.openTab({ ...INDIA, ...at('203.0.113.3') })
  await using second = await place.browser.openTab({ hasRoutes: true, ...INDIA, ...at('203.0.113.3') })
  await place.server.chat.post('too-late', 'too late', at('203.0.113.3').extraHTTPHeaders)
  // The other tab uses up the answer after this page was written and before it listens.
  const stream = await holdBack(second.page, '**/chatstream/too-late')
  await second.page.goto(`${place.server.chat.address}/chat/too-late`)
  await first.page.goto(place.server.chat.address)
  await useUp(first.page)
  stream.letPass()
  await second.page.getByText('The daily limit is reached. You can ask again at 05:30.').waitFor()
  await second.page.reload()
  await second.page
    .locator('.bound')
    .filter({ hasText: `${REACHED} You can ask again at 05:30` })
    .waitFor()
})

test('axe finds nothing wrong with a page that has reached a bound, on a phone and a desktop, light and dark', async () => {
  for (const [index, options] of screens().entries()) {
    await using tab = await place.openChat({ ...options, ...at(`198.51.100.${index}`) })
    const { page } = tab
    await useUp(page)
    await page.getByLabel('Your message').fill('one more')
    await page.getByLabel('Your message').press('Enter')
    await page.getByRole('alert').waitFor()
    expect(await violations(page), JSON.stringify(options)).toEqual([])
    await place.server.chat.post(`waiting-${index}`, 'waiting')
    await page.goto(`${place.server.chat.address}/chat/waiting-${index}`)
    await page.locator('.bound').waitFor()
    expect(await violations(page), JSON.stringify(options)).toEqual([])
  }
})

async function useUp(page: Page): Promise<void> {
  await (await send(page, 'first', place.server)).answer('The only answer.')
  await page.getByText('The only answer.').waitFor()
  await answered(page)
}
