import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Locator, Page } from 'playwright-core'
import { z } from 'zod'
import { openBrowser, type Tab, type TestBrowser } from '../../../test/harness/browser/chromium.ts'
import { startKeyedShop } from '../../../test/harness/catalog/keyed-shop.ts'
import type { Client } from '../../../test/harness/client.ts'
import { onOneEngine } from '../../../test/harness/contract.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { sample } from '../../../test/harness/samples.ts'

/** Unpacking and starting a browser takes long on a busy machine. */
const BROWSER_TIMEOUT_MS = 120_000

setDefaultTimeout(BROWSER_TIMEOUT_MS)

const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }

const Description = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.object({ operationId: z.string() }))),
})

onOneEngine('the /docs page', api => {
  let browser: TestBrowser
  /** The page as it was loaded once, for tests that each look at another part of it. */
  let loaded: Tab
  beforeAll(async () => {
    browser = await openBrowser()
    loaded = await browser.openTab()
    await openDocs(loaded.page, api)
  }, BROWSER_TIMEOUT_MS)
  afterAll(() => browser[Symbol.asyncDispose]())

  test('/docs shows the title Store API, its version, and each operation with its method, path and operation id', async () => {
    expect(await loaded.page.title()).toBe('Store API')
    expect(await loaded.page.locator('.info h1, .info h2').first().textContent()).toStartWith('Store API')
    expect(await loaded.page.locator('.info .version').first().textContent()).toContain('0.1.0')
    const shown = await Promise.all((await loaded.page.locator('.opblock').all()).map(operationLine))
    expect(shown.sort()).toEqual((await describedOperations(api)).sort())
    expect(shown).toHaveLength(25)
  })

  test('/docs requests nothing from another origin, and runs without errors, warnings or violations of its security policy', async () => {
    const { page, requests, complaints } = loaded
    // One with parameters and one with a body: all of them at once take the browser ten seconds.
    await page.evaluate(`
      document.querySelector('.models-control').click()
      for (const method of ['get', 'post']) {
        document.querySelector('.opblock-' + method + ':not(.is-open) .opblock-summary-control')?.click()
      }
    `)
    await page.locator('.opblock-body').nth(1).waitFor()
    expect(new Set(requests().map(address => new URL(address).origin))).toEqual(new Set([api.address()]))
    expect(requests().map(address => new URL(address).pathname)).toContain('/openapi.json')
    expect(complaints()).toEqual([])
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

  test('/docs tries out an operation with its example or what is typed, and shows the answer or why it was refused', async () => {
    const earlier = loaded.complaints().length
    const operation = await expand(loaded.page, 'create_category_categories__post')
    const body = operation.locator('textarea')
    await operation.getByRole('button', { name: 'Try it out' }).click()
    const example = z.looseObject({}).parse(JSON.parse(await body.inputValue()))
    expect(await shownAnswer(operation, '200')).toMatchObject(example)
    await body.fill(JSON.stringify({ ...sample.category, name: 'Ab' }))
    expect(JSON.stringify(await shownAnswer(operation, '422'))).toContain('String should have at least 3 characters')
    await body.fill(JSON.stringify(sample.category))
    const shown = z.looseObject({ id: z.int() }).parse(await shownAnswer(operation, '200'))
    expect(shown).toEqual({ id: shown.id, ...sample.category, products: [] })
    expect((await api.get(`/categories/${shown.id}`)).body).toEqual(shown)
    // The browser itself reports the refusal.
    const complaints = loaded.complaints().slice(earlier)
    expect(complaints.filter(complaint => !complaint.includes('status of 422'))).toEqual([])
  })

  test('/docs opens the operation that its address names, takes an access key, and tries out the operation with it', async () => {
    await using shop = await startKeyedShop(sqlite)
    await using tab = await browser.openTab()
    const { page } = tab
    await page.goto(`${shop.service.address}/docs#/Categories/create_category_categories__post`)
    const create = page.locator('#operations-Categories-create_category_categories__post')
    await create.getByRole('button', { name: 'Try it out' }).click()
    expect(await create.textContent()).toContain('Request body')
    await shownAnswer(create, '401')
    await page.locator('.scheme-container').getByRole('button', { name: 'Authorize' }).click()
    const dialog = page.locator('.dialog-ux')
    await dialog.getByLabel('auth-bearer-value').fill(shop.keys.write)
    await dialog.getByRole('button', { name: 'Apply credentials' }).click()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await shownAnswer(create, '200')
    expect((await shop.api.read.get('/categories/1')).status).toBe(200)
    // The browser reports the first refusal, and Swagger UI dislikes the addresses that it makes itself.
    expect(tab.complaints().filter(complaint => !/status of 401|escaping deep link/.test(complaint))).toEqual([])
  })

  test('without scripts, /docs says so and leads to the description that it would draw', async () => {
    await using tab = await browser.openTab({ javaScriptEnabled: false })
    const { page } = tab
    await page.goto(`${api.address()}/docs?description=strict`)
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
  })
})

async function openDocs(page: Page, api: Client): Promise<void> {
  await page.goto(`${api.address()}/docs`)
  await page.locator('.opblock').nth(24).waitFor()
}

async function describedOperations(api: Client): Promise<string[]> {
  const { paths } = Description.parse((await api.get('/openapi.json')).body)
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

/** Opens an operation, unless it is open. */
async function expand(page: Page, operationId: string): Promise<Locator> {
  const operation = page.locator(`.opblock[id$="-${operationId}"]`)
  if ((await operation.locator('.opblock-body').count()) === 0)
    await operation.locator('.opblock-summary-control').click()
  return operation
}

/** Sends the request; returns the body of the service's actual answer, not an example in the page, once it has this status. */
async function shownAnswer(operation: Locator, status: string): Promise<unknown> {
  await operation.getByRole('button', { name: 'Execute' }).click()
  const answer = operation.locator('.live-responses-table .response').first()
  await answer.locator('.response-col_status', { hasText: status }).waitFor()
  return JSON.parse((await answer.locator('.highlight-code code').first().textContent()) ?? '')
}
