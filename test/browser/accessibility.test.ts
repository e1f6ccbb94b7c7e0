import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import axe from 'axe-core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { z } from 'zod'
import { openBrowser, type TestBrowser } from '../harness/browser/chromium.ts'
import { type ChatServer, startChatServer } from '../harness/chat/chat-server.ts'
import { type Service, startServer } from '../harness/service.ts'
import { until } from '../harness/until.ts'

/** To unpack and start a browser takes its time on a busy machine. */
const BROWSER_TIMEOUT_MS = 60_000

setDefaultTimeout(BROWSER_TIMEOUT_MS)

const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }
const DESKTOP = { viewport: { width: 1200, height: 800 } }

const WIDE_ANSWER = `## Tools

| ${Array.from({ length: 12 }, (_, column) => `column ${column}`).join(' | ')} |
|${' --- |'.repeat(12)}
| ${Array.from({ length: 12 }, (_, column) => `cell ${column}`).join(' | ')} |

\`\`\`ts
const first = ${"'wide '".padEnd(160, '.')}
const second = 2 // note
\`\`\`

> A [link](https://example.com), \`code\`, and a list:

1. one
2. two
`

const Violations = z.array(z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string() })) }))

let browser: TestBrowser
let server: ChatServer
let breeds: Service
beforeAll(async () => {
  browser = await openBrowser()
  server = await startChatServer()
  breeds = await startServer(['breeds', '--host', '127.0.0.1', '--port', '0'])
}, BROWSER_TIMEOUT_MS)
afterAll(async () => {
  await breeds.stop()
  await server[Symbol.asyncDispose]()
  await browser[Symbol.asyncDispose]()
}, BROWSER_TIMEOUT_MS)

test('axe finds nothing on the chat page, with a wide table and wide code, on a phone and a desktop, light and dark', async () => {
  for (const options of surroundings()) {
    await using tab = await browser.openTab(options)
    const { page } = tab
    await page.goto(server.chat.address)
    expect(await violations(page), `before a prompt, ${JSON.stringify(options)}`).toEqual([])
    await answerOf(page, WIDE_ANSWER)
    expect(await violations(page), `behind an answer, ${JSON.stringify(options)}`).toEqual([])
  }
})

test('axe finds nothing on a chat page that refuses a prompt', async () => {
  await using tab = await browser.openTab()
  const { page } = tab
  await page.goto(server.chat.address)
  await page.getByLabel('Your message').fill('  ')
  await page.keyboard.press('Enter')
  await page.locator('#refusal').waitFor()
  expect(await violations(page)).toEqual([])
})

test('axe finds nothing on the breeds page, on a phone and a desktop, light and dark', async () => {
  for (const options of surroundings()) {
    await using tab = await browser.openTab(options)
    const { page } = tab
    await page.goto(breeds.address)
    await page.locator('#shown li').first().waitFor()
    expect(await violations(page), JSON.stringify(options)).toEqual([])
  }
})

test('a wide table and wide code are scrolled with the keyboard', async () => {
  await using tab = await browser.openTab(PHONE)
  const { page } = tab
  await page.goto(server.chat.address)
  await answerOf(page, WIDE_ANSWER)
  for (const name of ['Table', 'Code']) {
    const wide = page.getByRole('group', { name })
    await page.locator('h1').click()
    for (let tabs = 0; tabs < 20; tabs += 1) {
      await page.keyboard.press('Tab')
      if (await wide.evaluate(element => element.matches(':focus'))) break
    }
    await page.keyboard.press('ArrowRight')
    await until(() => wide.evaluate(element => element.scrollLeft > 0))
    expect(await wide.evaluate(element => element.matches(':focus')), name).toBe(true)
  }
})

test('the Copy button covers no code, with a pointer or without, however far the code is scrolled', async () => {
  for (const options of [PHONE, DESKTOP]) {
    await using tab = await browser.openTab(options)
    const { page } = tab
    await page.goto(server.chat.address)
    await answerOf(page, WIDE_ANSWER)
    await page.getByRole('button', { name: 'Copy' }).waitFor()
    for (const scrolled of [0, 300]) {
      const covered = await page.evaluate<boolean>(`
        const pre = document.querySelector('.written pre')
        pre.scrollLeft = ${scrolled}
        const button = document.querySelector('.copy').getBoundingClientRect()
        const code = document.createRange()
        code.selectNodeContents(pre)
        const boxes = [...code.getClientRects()]
        boxes.some(box => box.top < button.bottom && box.bottom > button.top && box.left < button.right && box.right > button.left)
      `)
      expect(covered, `${options.viewport.width} px, scrolled by ${scrolled}`).toBe(false)
    }
  }
})

/** Without motion: axe would measure the contrast of text that is still fading in. */
function surroundings(): BrowserContextOptions[] {
  return [PHONE, DESKTOP].flatMap(size => [
    { ...size, colorScheme: 'light', reducedMotion: 'reduce' },
    { ...size, colorScheme: 'dark', reducedMotion: 'reduce' },
  ])
}

async function answerOf(page: Page, answer: string): Promise<void> {
  await page.getByLabel('Your message').fill('Show me')
  await page.keyboard.press('Enter')
  await (await server.model.nextCall()).answer(answer)
  await page.locator('#chat:not([sse-connect])').waitFor({ state: 'attached' })
}

/** What axe has to say of the page, as one line for each element. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const found = await page.evaluate('axe.run().then(({ violations }) => violations)')
  return Violations.parse(found).flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}
