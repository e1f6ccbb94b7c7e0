import { expect, test } from 'bun:test'
import { chatInBrowser } from '../../test/harness/chat/chat-in-browser.ts'
import { startChatServer } from '../../test/harness/chat/chat-server.ts'
import { beginTurn } from '../../test/harness/chat/turns.ts'
import { sqlite } from '../../test/harness/engines.ts'

/** The message of a page while one address is at its limit. */

const open = chatInBrowser(() => startChatServer(sqlite, { environment: { CHAT_ANSWERS_PER_ADDRESS: '1' } }))

test('an answer that cannot begin yet says so, and begins by itself when it can', async () => {
  const { chat, model } = open.server
  const { listener: other, call } = await beginTurn(chat, model, 'other')
  await using tab = await open.openChat()
  const { page } = tab
  await page.getByLabel('Your message').fill('too soon')
  await page.keyboard.press('Enter')
  await page.getByText('Too many answers are under way. Trying again …').waitFor()
  await call.answer('done')
  await other.end()
  await (await model.nextCall()).answer('Here it is.')
  await page.getByText('Here it is.').waitFor()
  expect(await page.locator('#trouble').textContent()).toBe('')
})

test('without scripts, the page refreshes by itself until its answer can begin', async () => {
  const { chat, model } = open.server
  const { listener: another, call } = await beginTurn(chat, model, 'another')
  await using tab = await open.openChat({ javaScriptEnabled: false })
  const { page } = tab
  await page.getByLabel('Your message').fill('too soon')
  const refused = page.waitForResponse(response => response.status() === 429)
  await page.getByRole('button', { name: 'Send' }).click()
  expect((await refused).headers()['retry-after']).toBe('5')
  await call.answer('done')
  await another.end()
  await (await model.nextCall()).answer('Here it is.')
  await page.getByText('Here it is.').waitFor()
})

test('a message that is refused for now stays in the field with the reason, and can be sent again', async () => {
  await using bounded = await startChatServer(sqlite, { environment: { CHAT_PROMPTS_PER_ADDRESS: '1' } })
  await using tab = await open.browser.openTab()
  const { page } = tab
  await page.goto(bounded.chat.address)
  await page.getByLabel('Your message').fill('first')
  await page.keyboard.press('Enter')
  await (await bounded.model.nextCall()).answer('The first answer.')
  await page.getByText('The first answer.').waitFor()
  await page.locator('#chat:not([sse-connect])').waitFor({ state: 'attached' })
  for (let time = 0; time < 2; time += 1) {
    await page.getByLabel('Your message').fill('two\nlines')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'Too many messages have come from your network.' }).waitFor()
    expect(await page.getByLabel('Your message').inputValue()).toBe('two\nlines')
    expect(await page.evaluate<string>('document.activeElement.id')).toBe('user_prompt')
    expect(await page.locator('#trouble').textContent()).toBe('')
    expect(await page.locator('.message').count()).toBe(5)
    expect(await page.getByText('The first answer.').count()).toBe(1)
  }
})

test('without scripts, a message that is refused for now stays in the field too', async () => {
  await using bounded = await startChatServer(sqlite, { environment: { CHAT_PROMPTS_PER_ADDRESS: '1' } })
  await bounded.chat.post('first', 'first')
  await using tab = await open.browser.openTab({ javaScriptEnabled: false })
  const { page } = tab
  await page.goto(bounded.chat.address)
  await page.getByLabel('Your message').fill('two\nlines')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('alert').filter({ hasText: 'Too many messages have come from your network.' }).waitFor()
  expect(await page.getByLabel('Your message').inputValue()).toBe('two\nlines')
})
