import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { DESKTOP, PHONE, screens, violations } from '../../test/harness/browser/accessibility.ts'
import { chatInBrowser } from '../../test/harness/chat/chat-in-browser.ts'
import { answered, send } from '../../test/harness/chat/chat-page.ts'
import { until } from '../../test/harness/until.ts'

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

const TRANSPARENT = /, 0\)$/

const open = chatInBrowser()

test('axe finds nothing wrong with the chat page, with a wide table and wide code, on a phone and a desktop, light and dark', async () => {
  for (const options of screens()) {
    await using tab = await open.openChat(options)
    const { page } = tab
    expect(await violations(page), `before a prompt, ${JSON.stringify(options)}`).toEqual([])
    const call = await send(page, 'Show me', open.server)
    expect(await violations(page), `before an answer, ${JSON.stringify(options)}`).toEqual([])
    await call.answer(WIDE_ANSWER)
    await answered(page)
    expect(await violations(page), `behind an answer, ${JSON.stringify(options)}`).toEqual([])
  }
})

test('axe finds nothing wrong with a chat page that refuses a prompt', async () => {
  await using tab = await open.openChat()
  const { page } = tab
  await page.getByLabel('Your message').fill('  ')
  await page.keyboard.press('Enter')
  await page.locator('#refusal').waitFor()
  expect(await violations(page)).toEqual([])
})

test('with text of twice the size on a phone, the buttons are in sight, and the field has room for words', async () => {
  await using tab = await open.openChat(PHONE)
  const { page } = tab
  const call = await send(page, 'Large text', open.server)
  await page.evaluate("document.documentElement.style.fontSize = '200%'")
  const boxes = await Promise.all(
    ['Stop', 'Send', 'Your message'].map(name =>
      page.getByLabel(name).or(page.getByRole('button', { name })).boundingBox(),
    ),
  )
  for (const box of boxes) expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(PHONE.viewport.width)
  expect(boxes.at(-1)?.width).toBeGreaterThan(PHONE.viewport.width / 2)
  await call.answer('Yes.')
})

test('a wide table and wide code can be scrolled with the keyboard', async () => {
  await using tab = await open.openChat(PHONE)
  const { page } = tab
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

test('the form at the bottom covers nothing that has the focus, and typing in it does not scroll the page', async () => {
  await using tab = await open.openChat(PHONE)
  const { page } = tab
  await answerOf(page, Array.from({ length: 20 }, (_, place) => `[Link ${place}](https://example.com)\n`).join('\n'))
  await page.locator('h1').click()
  for (let place = 0; place < 20; place += 1) {
    const link = page.getByRole('link', { name: `Link ${place}`, exact: true })
    for (let tabs = 0; tabs < 2; tabs += 1) {
      if (!(await link.evaluate(element => element.matches(':focus')))) await page.keyboard.press('Tab')
    }
    const isInSight = await page.evaluate<boolean>(`
      const { left, top, right, bottom } = document.activeElement.getBoundingClientRect()
      document.activeElement === document.elementFromPoint((left + right) / 2, (top + bottom) / 2)
    `)
    expect(isInSight, `link ${place}`).toBe(true)
  }
  await page.evaluate('scrollTo(0, 100)')
  await page.keyboard.press('Tab')
  await page.keyboard.type('a few words')
  expect(await page.getByLabel('Your message').inputValue()).toBe('a few words')
  expect(await page.evaluate('scrollY')).toBe(100)
})

test('with forced colours, the field shows that it has the focus', async () => {
  await using tab = await open.openChat({ forcedColors: 'active' })
  const { page } = tab
  const field = page.getByLabel('Your message')
  await field.focus()
  const [style, color] = await page.evaluate<string[]>(`
    const { outlineStyle, outlineColor } = getComputedStyle(document.activeElement)
    ;[outlineStyle, outlineColor]
  `)
  expect(style).toBe('solid')
  expect(color).not.toMatch(TRANSPARENT)
})

test('the Copy button covers no code, with a pointer or without, however far the code is scrolled', async () => {
  for (const options of [PHONE, DESKTOP]) {
    await using tab = await open.openChat(options)
    const { page } = tab
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

async function answerOf(page: Page, answer: string): Promise<void> {
  const call = await send(page, 'Show me', open.server)
  await call.answer(answer)
  await answered(page)
}
