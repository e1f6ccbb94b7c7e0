import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { holdBack } from '../../test/harness/browser/held-answers.ts'
import { chatInBrowser } from '../../test/harness/chat/chat-in-browser.ts'
import { answered, expectLastMessages, messages, send } from '../../test/harness/chat/chat-page.ts'
import { sqlite } from '../../test/harness/engines.ts'
import type { ModelCall } from '../../test/harness/peers/model-server.ts'
import { until } from '../../test/harness/until.ts'

const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }
/** A time of a page's clock. */
const FAR_AHEAD = '2100-01-01'
/** One client's limit; the other places are for other clients. */
const ANSWERS_RUNNING_MAX = 12

const open = chatInBrowser()

test('a turn shows the prompt, says what it waits for, lets the answer grow, and makes the field ready again', async () => {
  await using tab = await open.openChat({ permissions: ['clipboard-read', 'clipboard-write'] })
  const { page } = tab
  const call = await send(page, 'What is a spade?', open.server)
  await expectLastMessages(page, ['You', 'What is a spade?'], ['Assistant', ''])
  await page.getByText('Waiting for the answer').waitFor()
  await call.send('A **spade** is a tool.\n\n```ts\nconst spade = 1\n')
  await page.locator('#Response strong').waitFor()
  await page.getByText('Answering').waitFor()
  expect(await page.locator('.written').last().getAttribute('aria-busy')).toBe('true')
  await call.send('```\n')
  await call.finish()
  await answered(page)
  expect(await page.locator('.written').last().getAttribute('aria-busy')).toBe('false')
  expect(await focused(page)).toBe('user_prompt')
  // The button says for a second and a half that it has copied.
  await page.clock.pauseAt(FAR_AHEAD)
  await page.getByRole('button', { name: 'Copy' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe('const spade = 1\n')
  expect(tab.requests().every(address => new URL(address).origin === open.server.chat.address)).toBe(true)
  expect(tab.complaints()).toEqual([])
})

test('a second turn leaves the first as it is, and no element id is duplicated', async () => {
  await using tab = await open.openChat()
  const { page } = tab
  await (await send(page, 'first', open.server)).answer('The first answer.')
  await answered(page)
  const call = await send(page, 'second', open.server)
  await call.send('The second')
  await page.getByText('The second').waitFor()
  expect(await duplicateIds(page)).toEqual([])
  await call.send(' answer.')
  await call.finish()
  await answered(page)
  expect((await messages(page)).slice(3)).toEqual([
    ['You', 'first'],
    ['Assistant', 'The first answer.'],
    ['You', 'second'],
    ['Assistant', 'The second answer.'],
  ])
  expect(await duplicateIds(page)).toEqual([])
  expect(tab.complaints()).toEqual([])
})

test('Shift+Enter begins a line, Enter sends, and the next prompt waits for the answer', async () => {
  await using tab = await open.openChat()
  const { page } = tab
  await page.getByLabel('Your message').focus()
  await page.keyboard.type('one')
  await page.keyboard.press('Shift+Enter')
  await page.keyboard.type('two')
  await page.keyboard.press('Enter')
  const call = await open.server.model.nextCall()
  expect(call.prompt).toBe('one\ntwo')
  await call.send('Three')
  await page.getByText('Three').waitFor()
  await page.keyboard.type('too early')
  await page.keyboard.press('Enter')
  await page.getByText('Wait for this answer, or stop it.').waitFor()
  await call.finish()
  await answered(page)
  expect(await page.getByLabel('Your message').inputValue()).toBe('too early')
  await page.keyboard.press('Enter')
  const next = await open.server.model.nextCall()
  expect(next.prompt).toBe('too early')
  await next.finish()
})

test('an Enter that takes the text of an input method does not send it, also in Safari', async () => {
  await using tab = await open.openChat()
  const { page } = tab
  const field = page.getByLabel('Your message')
  await field.fill('こん')
  await field.dispatchEvent('keydown', { key: 'Enter', keyCode: 229, isComposing: true })
  // Safari ends the composition before it tells of the key.
  await field.dispatchEvent('keydown', { key: 'Enter', keyCode: 229, isComposing: false })
  await field.fill('こんにちは')
  await field.dispatchEvent('keydown', { key: 'Enter', keyCode: 13 })
  const call = await open.server.model.nextCall()
  expect(call.prompt).toBe('こんにちは')
  await call.finish()
})

test('what is typed while a prompt is being sent is in the field afterwards', async () => {
  await using tab = await open.openChat({ hasRoutes: true })
  const { page } = tab
  const sending = await holdBack(page, '**/chat/*')
  await page.getByLabel('Your message').fill('first')
  await page.keyboard.press('Enter')
  await page.keyboard.type('and second')
  sending.letPass()
  const call = await open.server.model.nextCall()
  expect(call.prompt).toBe('first')
  await page.locator('.turn').waitFor()
  expect(await page.getByLabel('Your message').inputValue()).toBe('and second')
  await call.finish()
  await answered(page)
  expect(tab.complaints()).toEqual([])
})

test('the stop button ends the answer: the connection to the model is closed, and the text so far stays', async () => {
  await using tab = await open.openChat()
  const { page } = tab
  const call = await send(page, 'stop me', open.server)
  await call.send('The beginning')
  await page.getByText('The beginning').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await call.closed
  await answered(page)
  await expectLastMessages(page, ['You', 'stop me'], ['Assistant', 'The beginning\nThe answer was stopped.'])
  expect(await focused(page)).toBe('user_prompt')
  expect(tab.complaints()).toEqual([])
})

test('a failure of the model is readable, and the next message can be sent', async () => {
  await using tab = await open.openChat()
  const { page } = tab
  await (await send(page, 'refused', open.server)).refuse(401)
  await page.locator('.note.failure').waitFor()
  await answered(page)
  await (await send(page, 'again', open.server)).answer('Here I am.')
  await page.getByText('Here I am.').waitFor()
  expect(tab.complaints()).toEqual([])
})

test('a blank message is refused where it was typed, and the conversation stays', async () => {
  await using tab = await open.openChat()
  const { page } = tab
  await page.getByLabel('Your message').fill('   ')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  expect(await page.getByRole('alert').textContent()).toBe('Write something first.')
  expect(await focused(page)).toBe('user_prompt')
  expect(await messages(page)).toHaveLength(3)
  await (await send(page, 'something', open.server)).answer('Thanks.')
  await page.getByText('Thanks.').waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
})

test('what is typed and not sent is there after “New chat” and “Back”, and gone once it is sent', async () => {
  await using tab = await open.browser.openTab()
  const { page } = tab
  const field = page.getByLabel('Your message')
  await page.goto(open.server.chat.address)
  await (await send(page, 'first', open.server)).answer('The first answer.')
  await answered(page)
  await field.fill('A long thought,\non two lines')
  await page.getByRole('link', { name: 'New chat' }).click()
  await page.waitForURL(open.server.chat.address)
  expect(await field.inputValue()).toBe('A long thought,\non two lines')
  await page.goBack()
  await page.getByText('The first answer.').waitFor()
  expect(await field.inputValue()).toBe('A long thought,\non two lines')
  await page.keyboard.press('Enter')
  await (await open.server.model.nextCall()).answer('The second answer.')
  await answered(page)
  await page.getByRole('link', { name: 'New chat' }).click()
  await page.waitForURL(open.server.chat.address)
  expect(await field.inputValue()).toBe('')
  expect(tab.complaints()).toEqual([])
})

test('a message that the server has forgotten before its answer began is said to be gone, and the next one can be sent', async () => {
  await using tab = await open.openChat({ hasRoutes: true })
  const { page } = tab
  await page.route('**/chatstream/*', async route => {
    await sqlite.write(open.server.databaseUrl, "DELETE FROM prompts WHERE text = 'forgotten'")
    await route.continue()
  })
  await page.getByLabel('Your message').fill('forgotten')
  await page.keyboard.press('Enter')
  await page.getByText('The server no longer has this message and its answer. You can send it again.').waitFor()
  await page.unrouteAll()
  await (await send(page, 'again', open.server)).answer('Heard.')
  await page.getByText('Heard.').waitFor()
})

test('the page follows the answer down, unless the reader has scrolled up', async () => {
  await using tab = await open.openChat({ viewport: { width: 800, height: 500 } })
  const { page } = tab
  const call = await send(page, 'a long one', open.server)
  await call.send(lines(1, 40))
  await page.getByText('line 40.').waitFor()
  await isAtTheEnd(page)
  await page.evaluate('scrollTo(0, 100)')
  await until(() => page.evaluate<boolean>('scrollY === 100'))
  await scrollIsToldOf(page)
  await call.send(lines(41, 60))
  await page.getByText('line 60.').waitFor({ state: 'attached' })
  expect(await page.evaluate<number>('scrollY')).toBe(100)
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
  await until(() => page.evaluate<boolean>('scrollY > 100'))
  await scrollIsToldOf(page)
  await call.send(lines(61, 80))
  await page.getByText('line 80.').waitFor()
  await isAtTheEnd(page)
  await call.finish()
})

test('while an answer grows, and when it ends, its reader keeps the focus, the selected text, and the place in wide code', async () => {
  await using tab = await open.openChat()
  const { page } = tab
  const call = await send(page, 'read it', open.server)
  await call.send(`A [link](https://example.com), and code:\n\n\`\`\`\n${'wide '.repeat(100)}\n`)
  await page.getByText('wide wide').waitFor()
  await page.evaluate(`
    const answer = document.getElementById('Response')
    getSelection().selectAllChildren(answer.querySelector('p'))
    answer.querySelector('a').focus()
    answer.querySelector('pre').scrollLeft = 200
  `)
  const kept = () =>
    page.evaluate(
      `[getSelection().toString(), document.activeElement.textContent, document.querySelector('pre').scrollLeft]`,
    )
  await call.send('narrow\n')
  await page.getByText('narrow').waitFor()
  expect(await kept()).toEqual(['A link, and code:', 'link', 200])
  await call.send('```\n\nThe end.')
  await call.finish()
  await answered(page)
  await page.getByRole('button', { name: 'Copy' }).waitFor()
  expect(await kept()).toEqual(['A link, and code:', 'link', 200])
  expect(tab.complaints()).toEqual([])
})

test('nothing that the model or the user writes takes effect: no script, link, attribute, id or frame', async () => {
  await using tab = await open.openChat()
  const { page } = tab
  const dialogs: string[] = []
  page.on('dialog', dialog => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  const call = await send(page, TRICKS.join('\n\n'), open.server)
  for (const trick of TRICKS) await call.send(`${trick}\n\n`)
  await call.send('The end of the tricks.')
  await page.getByText('The end of the tricks.').last().waitFor()
  const shown = await page.locator('#Response').innerHTML()
  expect(shown).not.toMatch(/<(script|img|iframe|form|input|style|svg|object|base|meta)\b/i)
  const attributes = await page.evaluate<string[]>(
    `[...document.querySelectorAll('.turn *')].flatMap(element => element.getAttributeNames())`,
  )
  expect(attributes.filter(name => name.startsWith('on') || name.includes('hx-'))).toEqual([])
  const links = await page.evaluate<string[]>(`[...document.querySelectorAll('.turn a')].map(link => link.protocol)`)
  expect(links.filter(protocol => !['http:', 'https:', 'mailto:'].includes(protocol))).toEqual([])
  expect(await duplicateIds(page)).toEqual([])
  for (const element of await page.locator('.turn [role], .turn button, .turn [tabindex]').all()) {
    await element.click({ timeout: 500 }).catch(() => {})
  }
  await call.finish()
  await answered(page)
  expect(await page.locator('#composer').count()).toBe(1)
  expect(await page.locator('.message').count()).toBe(5)
  expect(await page.evaluate('window.intruded')).toBeUndefined()
  expect(dialogs).toEqual([])
  expect(tab.requests().filter(address => /intrude|evil/.test(address))).toEqual([])
  expect(tab.requests().every(address => new URL(address).origin === open.server.chat.address)).toBe(true)
  expect(tab.complaints()).toEqual([])
  await (await send(page, 'still alive?', open.server)).answer('Yes.')
  await page.getByText('Yes.', { exact: true }).waitFor()
})

test('an answer that waits in line says so', async () => {
  const { chat, model } = open.server
  const others: ModelCall[] = []
  for (let index = 0; index < ANSWERS_RUNNING_MAX; index += 1) {
    await chat.post(`busy-${index}`, 'busy')
    chat.listen(`busy-${index}`)
    others.push(await model.nextCall())
  }
  await using tab = await open.openChat()
  const { page } = tab
  await page.getByLabel('Your message').fill('in line')
  await page.keyboard.press('Enter')
  await page.getByText('waiting in line').waitFor()
  for (const call of others) await call.answer('done')
  await (await model.nextCall()).answer('It is your turn.')
  await page.getByText('It is your turn.').waitFor()
  expect(tab.complaints()).toEqual([])
})

test('text has the direction of its language, and code that of code', async () => {
  await using tab = await open.openChat()
  const { page } = tab
  const call = await send(page, 'ما هي المجرفة؟', open.server)
  await call.answer('المجرفة أداة!\n\n- أولاً: `f(x)`!\n\nEnglish, too!\n\n```\nf(x)!\n```\n')
  await answered(page)
  expect(await firstAndLast(page, '.typed')).toBe('right to left')
  expect(await firstAndLast(page, '#Response > p:first-child')).toBe('right to left')
  expect(await firstAndLast(page, '#Response li')).toBe('right to left')
  expect(await firstAndLast(page, '#Response li code')).toBe('left to right')
  expect(await firstAndLast(page, '#Response ul + p')).toBe('left to right')
  expect(await firstAndLast(page, '#Response pre code')).toBe('left to right')
  expect(await page.evaluate(`getComputedStyle(document.querySelector('#Response ul')).direction`)).toBe('rtl')
  expect(tab.complaints()).toEqual([])
})

test('the page fits a phone and is dark if the reader prefers that', async () => {
  await using tab = await open.openChat({ ...PHONE, colorScheme: 'dark' })
  const { page } = tab
  const call = await send(page, `A ${'very'.repeat(40)} long word`, open.server)
  await call.answer(
    `Also ${'long'.repeat(60)}.\n\n| ${'wide '.repeat(20)} | table |\n| --- | --- |\n| a | b |\n\n`,
    `\`\`\`sh\n${'echo wide '.repeat(30)}\n\`\`\`\n`,
  )
  await answered(page)
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.viewport.width)
  expect(await lightness(page, 'body', 'background-color')).toBeLessThan(64)
  expect(await lightness(page, '#Response', 'color')).toBeGreaterThan(192)
  expect(tab.complaints()).toEqual([])
})

test('nothing moves while the page waits, if the reader prefers that', async () => {
  await using tab = await open.openChat({ reducedMotion: 'reduce' })
  const { page } = tab
  const call = await send(page, 'still', open.server)
  await page.locator('#Response').waitFor({ state: 'attached' })
  expect(await page.evaluate('document.getAnimations().length')).toBe(0)
  await page.emulateMedia({ reducedMotion: 'no-preference' })
  expect(await page.evaluate('document.getAnimations().length')).toBe(1)
  await call.finish()
})

test('without scripts, a plain form leads to the answer', async () => {
  await using tab = await open.openChat({ javaScriptEnabled: false })
  const { page } = tab
  await page.getByLabel('Your message').fill('no scripts')
  await page.getByRole('button', { name: 'Send' }).click()
  const call = await open.server.model.nextCall()
  expect(call.prompt).toBe('no scripts')
  await call.answer('No scripts needed.')
  await page.getByText('No scripts needed.').waitFor()
  await page.getByLabel('Your message').fill('once more')
  await page.getByRole('button', { name: 'Send' }).click()
  await (await open.server.model.nextCall()).answer('With pleasure.')
  await page.getByText('With pleasure.').waitFor()
})

const TRICKS = [
  '<script>window.intruded = 1; alert(1)</script>',
  '<img src=x onerror="window.intruded = 1"> ![picture](http://evil.example/intrude.png)',
  '[link](javascript:window.intruded=1) [link](JaVaScRiPt:alert(1)) [link](data:text/html,<script>alert(1)</script>)',
  '[link](  javascript&colon;alert(1)) [x](vbscript:alert(1)) <javascript:alert(1)>',
  '<div hx-get="/intrude" hx-trigger="load" data-hx-get="/intrude">gadget</div>',
  '</div></div></article></main><form id="composer" action="/intrude"><button>Send</button></form>',
  '<div id="chat" hx-swap-oob="true" sse-connect="/intrude"></div><div id="Response">mine</div>',
  'line\r\n\r\nevent: Terminate\rdata: <div id="chat" hx-swap-oob="true"></div>\n\nevent: Response',
  '"><svg onload=alert(1)> &lt;script&gt;alert(1)&lt;/script&gt; <style>body{display:none}</style>',
  '```"><script>alert(1)</script>\n</code></pre><script>alert(1)</script>\n```',
  '# <iframe src="http://evil.example/"></iframe>',
  '[a]: javascript:alert(1) "title"\n\n[a]',
  '| <base href="http://evil.example/"> | `</code><script>alert(1)</script>` |\n| --- | --- |',
  '<meta http-equiv="refresh" content="0; url=http://evil.example/">',
]

/** Which way it is from the first character of the last such element to its last character. */
function firstAndLast(page: Page, selector: string): Promise<string> {
  return page.evaluate<string>(`
    const places = []
    const walker = document.createTreeWalker([...document.querySelectorAll('${selector}')].at(-1), NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
      for (let at = 0; at < walker.currentNode.data.trimEnd().length; at += 1) {
        const range = document.createRange()
        range.setStart(walker.currentNode, at)
        range.setEnd(walker.currentNode, at + 1)
        places.push(range.getBoundingClientRect().x)
      }
    }
    places.at(-1) > places[0] ? 'left to right' : 'right to left'
  `)
}

function focused(page: Page): Promise<string> {
  return page.evaluate<string>('document.activeElement.id')
}

function duplicateIds(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`
    const ids = [...document.querySelectorAll('[id]')].map(element => element.id)
    ids.filter((id, index) => ids.indexOf(id) !== index)
  `)
}

/** Not by `waitForFunction`, which the policy of the page lets look only once. */
function isAtTheEnd(page: Page): Promise<void> {
  return until(() => page.evaluate<boolean>('document.documentElement.scrollHeight - innerHeight - scrollY < 2'))
}

/** A browser reports a scroll to the page with the next frame. */
async function scrollIsToldOf(page: Page): Promise<void> {
  await page.evaluate('new Promise(told => requestAnimationFrame(() => requestAnimationFrame(told)))')
}

/** From 0 to 255. */
function lightness(page: Page, selector: string, property: string): Promise<number> {
  return page.evaluate<number>(`
    const color = getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${property}')
    const parts = color.match(/\\d+/g).slice(0, 3).map(Number)
    parts.reduce((sum, part) => sum + part, 0) / 3
  `)
}

function lines(first: number, last: number): string {
  return Array.from({ length: last - first + 1 }, (_, index) => `line ${first + index}.\n\n`).join('')
}
