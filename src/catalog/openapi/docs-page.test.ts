import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Locator } from 'playwright-core'
import { z } from 'zod'
import { openBrowser, type Tab, type TestBrowser } from '../../../test/harness/browser/chromium.ts'
import { type KeyedShop, startKeyedShop } from '../../../test/harness/catalog/keyed-shop.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { sample } from '../../../test/harness/samples.ts'

/** Unpacking and starting a browser takes long on a busy machine. */
const BROWSER_TIMEOUT_MS = 120_000

setDefaultTimeout(BROWSER_TIMEOUT_MS)

const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }

const Description = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.object({ operationId: z.string() }))),
})

/** The operation that the address of the page names. */
const CREATE = ['Categories', 'create_category_categories__post']

/** The browser reports the refusals that a test asks for, and Swagger UI dislikes the addresses that it makes itself. */
const EXPECTED = /status of 4(01|22)|escaping deep link/

let browser: TestBrowser
let shop: KeyedShop
/** The page as it was loaded once, for tests that each look at another part of it. */
let loaded: Tab
beforeAll(async () => {
  browser = await openBrowser()
  shop = await startKeyedShop(sqlite)
  loaded = await browser.openTab()
  await loaded.page.goto(`${docs()}#/${CREATE.join('/')}`)
  await loaded.page.locator('.opblock').nth(24).waitFor()
}, BROWSER_TIMEOUT_MS)
afterAll(async () => {
  await browser[Symbol.asyncDispose]()
  await shop[Symbol.asyncDispose]()
})

test('/docs shows the title Store API, its version, and each operation with its method, path and operation id', async () => {
  expect(await loaded.page.title()).toBe('Store API')
  expect(await loaded.page.locator('.info h1, .info h2').first().textContent()).toStartWith('Store API')
  expect(await loaded.page.locator('.info .version').first().textContent()).toContain('0.1.0')
  const shown = await Promise.all((await loaded.page.locator('.opblock').all()).map(operationLine))
  expect(shown.sort()).toEqual((await describedOperations()).sort())
  expect(shown).toHaveLength(25)
})

test('/docs opens the operation that its address names, takes an access key, tries out the operation with its example or what is typed, and shows the answer or why it was refused', async () => {
  const earlier = loaded.complaints().length
  const { page } = loaded
  const create = page.locator(`#operations-${CREATE.join('-')}`)
  await create.getByRole('button', { name: 'Try it out' }).click()
  expect(await create.textContent()).toContain('Request body')
  await shownAnswer(create, '401')
  await page.locator('.scheme-container').getByRole('button', { name: 'Authorize' }).click()
  const dialog = page.locator('.dialog-ux')
  await dialog.getByLabel('auth-bearer-value').fill(shop.keys.write)
  await dialog.getByRole('button', { name: 'Apply credentials' }).click()
  await dialog.getByRole('button', { name: 'Close' }).click()
  const body = create.locator('textarea')
  const example = z.looseObject({}).parse(JSON.parse(await body.inputValue()))
  expect(await shownAnswer(create, '200')).toMatchObject(example)
  await body.fill(JSON.stringify({ ...sample.category, name: 'Ab' }))
  expect(JSON.stringify(await shownAnswer(create, '422'))).toContain('String should have at least 3 characters')
  await body.fill(JSON.stringify(sample.category))
  const shown = z.looseObject({ id: z.int() }).parse(await shownAnswer(create, '200'))
  expect(shown).toEqual({ id: shown.id, ...sample.category, products: [] })
  expect((await shop.api.read.get(`/categories/${shown.id}`)).body).toEqual(shown)
  const complaints = loaded.complaints().slice(earlier)
  expect(complaints.filter(complaint => !EXPECTED.test(complaint))).toEqual([])
})

test('/docs requests nothing from another origin, and runs without errors, warnings or violations of its security policy', async () => {
  const { page, requests, complaints } = loaded
  // One with parameters and one with a body: all of them at once take the browser ten seconds.
  await page.evaluate(`
    document.querySelector('.models-control').click()
    for (const method of ['get', 'put']) document.querySelector('.opblock-' + method + ' .opblock-summary-control').click()
  `)
  await page.locator('.opblock-get .opblock-body').waitFor()
  await page.locator('.opblock-put .opblock-body').waitFor()
  expect(new Set(requests().map(address => new URL(address).origin))).toEqual(new Set([shop.service.address]))
  expect(requests().map(address => new URL(address).pathname)).toContain('/openapi.json')
  expect(complaints().filter(complaint => !EXPECTED.test(complaint))).toEqual([])
})

test('/docs has a policy that the browser enforces: neither a script from elsewhere nor an inline one runs', async () => {
  const earlier = loaded.complaints().length
  await loaded.page.evaluate(`
    const inline = document.createElement('script')
    inline.textContent = 'window.intruded = true'
    const foreign = document.createElement('script')
    foreign.src = 'http://127.0.0.1:1/intrude.js'
    const refused = new Promise(resolve => { foreign.onerror = resolve })
    document.body.append(inline, foreign)
    refused
  `)
  expect(await loaded.page.evaluate('window.intruded')).toBeUndefined()
  expect(
    loaded
      .complaints()
      .slice(earlier)
      .filter(complaint => complaint.startsWith('policy: script-src-elem')),
  ).toEqual([expect.stringContaining(' inline '), expect.stringContaining('http://127.0.0.1:1/intrude.js')])
})

test('without scripts, /docs says so and leads to the description that it would draw', async () => {
  await using tab = await browser.openTab({ javaScriptEnabled: false })
  const { page } = tab
  await page.goto(`${docs()}?description=strict`)
  await page.locator('noscript a').click()
  await page.waitForURL('**/openapi.strict.json')
})

test('/docs has a switch to the complete description, and back, and fits the width of a phone with either', async () => {
  await using tab = await browser.openTab(PHONE)
  const { page } = tab
  const complete = await loaded.page.getByRole('link', { name: /^Complete/ }).getAttribute('href')
  await page.goto(new URL(complete ?? '', loaded.page.url()).href)
  await page.locator('.opblock').nth(25).waitFor()
  expect(await page.locator('nav [aria-current]').textContent()).toStartWith('Complete')
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.viewport.width)
  expect(tab.complaints()).toEqual([])
  await page.getByRole('link', { name: /^Specified/ }).click()
  await page.locator('nav [aria-current]', { hasText: /^Specified/ }).waitFor()
  await page.locator('.opblock').nth(24).waitFor()
  expect(await page.locator('.opblock').count()).toBe(25)
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.viewport.width)
  const create = page.locator(`#operations-${CREATE.join('-')}`)
  await create.locator('.opblock-summary-control').click()
  await create.getByRole('button', { name: 'Try it out' }).click()
  await create.locator('textarea').fill('{}')
  await create.getByRole('button', { name: 'Reset' }).waitFor()
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.viewport.width)
})

function docs(): string {
  return `${shop.service.address}/docs`
}

async function describedOperations(): Promise<string[]> {
  const { paths } = Description.parse((await shop.api.without.get('/openapi.json')).body)
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => `${method.toUpperCase()} ${path} ${operationId}`),
  )
}

async function operationLine(operation: Locator): Promise<string> {
  const parts = ['.opblock-summary-method', '.opblock-summary-path', '.opblock-summary-operation-id']
  const texts = await Promise.all(parts.map(part => operation.locator(part).textContent()))
  // Long words contain invisible break points.
  return texts.join(' ').replaceAll('\u200b', '')
}

/** Sends the request; returns the body of the service's actual answer, not an example in the page, once it has this status. */
async function shownAnswer(operation: Locator, status: string): Promise<unknown> {
  await operation.getByRole('button', { name: 'Execute' }).click()
  const answer = operation.locator('.live-responses-table .response').first()
  await answer.locator('.response-col_status', { hasText: status }).waitFor()
  return JSON.parse((await answer.locator('.highlight-code code').first().textContent()) ?? '')
}
