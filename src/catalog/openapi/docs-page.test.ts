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

  test('/docs has a switch to the complete description, and back', async () => {
    await using tab = await browser.openTab()
    await openDocs(tab.page, api)
    await tab.page.getByRole('link', { name: /^Complete/ }).click()
    await tab.page.locator('.opblock').nth(25).waitFor()
    expect(await tab.page.locator('.opblock').count()).toBeGreaterThan(25)
    expect(await tab.page.locator('nav [aria-current]').textContent()).toStartWith('Complete')
    expect(tab.complaints()).toEqual([])
    await tab.page.getByRole('link', { name: /^Specified/ }).click()
    await tab.page.locator('.opblock').nth(24).waitFor()
    expect(await tab.page.locator('.opblock').count()).toBe(25)
  })

  test('/docs requests nothing from another origin, and runs without errors, warnings or violations of its security policy', async () => {
    const { page, requests, complaints } = loaded
    // One of each kind: all of them at once take the browser ten seconds.
    const expandOrCollapse = `
      document.querySelector('.models-control').click()
      for (const method of ['get', 'post', 'put', 'patch', 'delete']) {
        document.querySelector('.opblock-' + method + ' .opblock-summary-control').click()
      }
    `
    await page.evaluate(expandOrCollapse)
    await page.locator('.opblock-body').nth(4).waitFor()
    await page.evaluate(expandOrCollapse)
    await page.locator('.opblock-body').waitFor({ state: 'detached' })
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

  test('/docs can try out an operation: it creates what was typed and shows the answer 200', async () => {
    const earlier = loaded.complaints().length
    const operation = await expand(loaded.page, 'create_category_categories__post')
    await operation.getByRole('button', { name: 'Try it out' }).click()
    await operation.locator('textarea').fill(JSON.stringify(sample.category))
    await operation.getByRole('button', { name: 'Execute' }).click()
    const { status, body } = await shownAnswer(operation)
    expect(status).toBe('200')
    const shown = z.object({ id: z.int() }).loose().parse(JSON.parse(body))
    expect(shown).toEqual({ id: shown.id, ...sample.category, products: [] })
    expect((await api.get(`/categories/${shown.id}`)).body).toEqual(shown)
    expect(loaded.complaints().slice(earlier)).toEqual([])
  })

  test('/docs offers an example body that the service accepts', async () => {
    const operation = await expand(loaded.page, 'create_product_products__post')
    await operation.getByRole('button', { name: 'Try it out' }).click()
    await operation.getByRole('button', { name: 'Execute' }).click()
    expect((await shownAnswer(operation)).status).toBe('200')
  })

  test('/docs shows a refusal with its status and the reason', async () => {
    const operation = await expand(loaded.page, 'create_user_users__post')
    await operation.getByRole('button', { name: 'Try it out' }).click()
    await operation.locator('textarea').fill(JSON.stringify({ ...sample.user, name: 'Ab' }))
    await operation.getByRole('button', { name: 'Execute' }).click()
    const { status, body } = await shownAnswer(operation)
    expect(status).toStartWith('422')
    expect(body).toContain('String should have at least 3 characters')
  })

  test('/docs links to each operation by its own address', async () => {
    await using tab = await browser.openTab()
    await tab.page.goto(`${api.address()}/docs#/Users/create_user_users__post`)
    const operation = tab.page.locator('#operations-Users-create_user_users__post')
    await operation.getByRole('button', { name: 'Try it out' }).waitFor()
    expect(await operation.textContent()).toContain('Request body')
  })

  test('/docs of a service with access keys takes a key, and tries out operations with it', async () => {
    await using shop = await startKeyedShop(sqlite)
    await using tab = await browser.openTab()
    const { page } = tab
    await openDocs(page, shop.api.without)
    const create = await expand(page, 'create_category_categories__post')
    await create.getByRole('button', { name: 'Try it out' }).click()
    await create.getByRole('button', { name: 'Execute' }).click()
    expect((await shownAnswer(create)).status).toStartWith('401')
    await page.locator('.scheme-container').getByRole('button', { name: 'Authorize' }).click()
    const dialog = page.locator('.dialog-ux')
    await dialog.getByLabel('auth-bearer-value').fill(shop.keys.write)
    await dialog.getByRole('button', { name: 'Apply credentials' }).click()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await create.getByRole('button', { name: 'Execute' }).click()
    await create.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor()
    expect((await shop.api.read.get('/categories/1')).status).toBe(200)
    expect(tab.complaints().filter(complaint => !complaint.includes('401'))).toEqual([])
  })

  test('/docs fits the width of a phone', async () => {
    await using tab = await browser.openTab(PHONE)
    await openDocs(tab.page, api)
    expect(await tab.page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.viewport.width)
    expect(tab.complaints()).toEqual([])
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

async function expand(page: Page, operationId: string): Promise<Locator> {
  const operation = page.locator(`.opblock[id$="-${operationId}"]`)
  await operation.locator('.opblock-summary-control').click()
  return operation
}

/** The service's actual answer, not an example in the page. */
async function shownAnswer(operation: Locator): Promise<{ status: string; body: string }> {
  const answer = operation.locator('.live-responses-table .response').first()
  return {
    status: (await answer.locator('.response-col_status').textContent()) ?? '',
    body: (await answer.locator('.highlight-code code').first().textContent()) ?? '',
  }
}
