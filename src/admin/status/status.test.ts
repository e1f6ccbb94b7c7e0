import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, renameSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { screens, violations } from '../../../test/harness/browser/accessibility.ts'
import { openBrowser, type TestBrowser } from '../../../test/harness/browser/chromium.ts'
import { startChatServer } from '../../../test/harness/chat/chat-server.ts'
import { client } from '../../../test/harness/client.ts'
import { postgres, sqlite } from '../../../test/harness/engines.ts'
import { freePort } from '../../../test/harness/free-port.ts'
import { adminAddress, WITH_METRICS } from '../../../test/harness/metrics.ts'
import { sample } from '../../../test/harness/samples.ts'
import { type Service, startService } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { until } from '../../../test/harness/until.ts'

/** Unpacking and starting a browser takes long on a busy machine. */
const BROWSER_TIMEOUT_MS = 120_000

setDefaultTimeout(BROWSER_TIMEOUT_MS)

const open = new AsyncDisposableStack()
let browser: TestBrowser
let shop: Service
beforeAll(async () => {
  browser = open.use(await openBrowser())
  const database = open.use(await sqlite.freshDatabase())
  shop = open.use(await startService(database.url, { flags: WITH_METRICS }))
}, BROWSER_TIMEOUT_MS)
afterAll(() => open.disposeAsync(), BROWSER_TIMEOUT_MS)

test('the page draws each chart, and its figures change while it is open', async () => {
  await using tab = await browser.openTab()
  const { page } = tab
  await page.goto(`${await adminAddress(shop)}/status`)
  await page.getByText('Live').waitFor()
  const plots = await page.locator('.plot').count()
  expect(plots).toBeGreaterThanOrEqual(11)
  await until(async () => (await page.locator('.plot canvas').count()) === plots)
  // Until then, it shows what the service wrote when it started.
  const before = '0/s'
  await until(async () => (await figureOf(page, 'Writes to SQLite', 'writes')) === before)
  const api = client(() => shop.address)
  await until(async () => {
    await api.create('/products/', sample.product)
    return (await figureOf(page, 'Writes to SQLite', 'writes')) !== before
  })
  expect(await figureOf(page, 'Requests', '2xx')).toMatch(/^[\d.,]+\/s$/)
  expect(tab.complaints()).toEqual([])
  expect(new Set(tab.requests().map(address => new URL(address).origin))).toEqual(new Set([await adminAddress(shop)]))
})

test('a page that is opened while the server starts gets its charts', async () => {
  await using tab = await browser.openTab()
  const { page } = tab
  for (const flags of [[], ...(process.platform === 'linux' ? [['--workers', '2']] : [])]) {
    const port = await freePort()
    using folder = temporaryFolder()
    const database = `sqlite:${join(folder.path, 'shop.db')}`
    const starting = startService(database, { flags: [...WITH_METRICS, ...flags, '--admin-port', String(port)] })
    const address = `http://127.0.0.1:${port}/status`
    let earliest = ''
    await until(async () => {
      const response = await fetch(address).catch(() => null)
      earliest = (await response?.text()) ?? ''
      return response?.status === 200
    })
    let isFirst = true
    // The route stays: while Playwright takes one away (`times: 1`), a request of the page may wait for good.
    await page.route(address, route => {
      if (!isFirst) return route.continue()
      isFirst = false
      return route.fulfill({ body: earliest, contentType: 'text/html' })
    })
    await page.goto(address)
    await until(async () => (await page.locator('.plot canvas').count()) >= 11)
    // Otherwise, it would say that the server goes.
    await page.goto('about:blank')
    expect(tab.complaints()).toEqual([])
    await using _ = await starting
  }
})

test('a connection shows as soon as it is open', async () => {
  await using database = await sqlite.freshDatabase()
  await using service = await startService(database.url, { flags: WITH_METRICS })
  const points = async () => {
    const stream = await fetch(`${await adminAddress(service)}/status/events`)
    return JSON.parse(await firstEvent(stream, 'Points')).times.length
  }
  const open = async () => /open<\/th><td>([^<]*)/.exec(await pageOf(service))?.[1]
  await until(async () => (await open()) === '0')
  const before = await points()
  const { hostname, port } = new URL(service.address)
  const socket = connect(Number(port), hostname)
  await until(async () => (await open()) === '1')
  expect((await points()) - before).toBeLessThanOrEqual(4)
  socket.destroy()
})

test('a chart shows what happened before the page was opened', async () => {
  const api = client(() => shop.address)
  await until(async () => {
    await api.get('/nothing')
    const shown = await pageOf(shop)
    return /4xx<\/th><td>[^<]*<\/td><td>(?!0\/s)/.test(shown)
  })
  const stream = await fetch(`${await adminAddress(shop)}/status/events`)
  const { isFirst, times, series } = JSON.parse(await firstEvent(stream, 'Points'))
  expect(isFirst).toBe(true)
  expect(times.length).toBeGreaterThanOrEqual(2)
  expect(times.toSorted()).toEqual(times)
  for (const values of series) expect(values).toHaveLength(times.length)
  expect(series[2].some((value: number) => value > 0)).toBe(true)
})

test('without scripts, the page shows its figures in tables, and says how to get newer ones', async () => {
  await using tab = await browser.openTab({ javaScriptEnabled: false })
  const { page } = tab
  await page.goto(`${await adminAddress(shop)}/status`)
  expect(await page.locator('noscript').textContent()).toContain('Reload for newer figures')
  expect(await page.locator('.plot').first().isVisible()).toBe(false)
  expect(await figureOf(page, 'Memory', 'occupied')).toMatch(/^\d+(\.\d+)? MiB$/)
  expect(await page.locator('#facts').textContent()).toContain('ready')
})

test('the page of the chat shows answers, tokens and PostgreSQL', async () => {
  await using chat = await startChatServer(postgres, { environment: { ADMIN_PORT: '0' } })
  await using tab = await browser.openTab()
  const { page } = tab
  await page.goto(`${await adminAddress(chat.service)}/status`)
  await chat.chat.post('shown', 'What is this?')
  const listener = chat.chat.listen('shown')
  const call = await chat.model.nextCall()
  await call.send('Some words')
  await until(async () => (await figureOf(page, 'Answers of the model', 'running')) === '1')
  await call.finish()
  await listener.end()
  await until(async () => (await figureOf(page, 'Tokens, as answers end', 'output')) !== '0/s')
  const titles = await page.locator('h2').allTextContents()
  expect(titles).toContain('Statements to PostgreSQL')
  expect(titles).not.toContain('Writes to SQLite')
  expect(titles).not.toContain('Reads from the cache')
})

test('axe finds nothing wrong with the page, on a phone and a desktop, light and dark; nothing is cut off', async () => {
  for (const options of screens()) {
    await using tab = await browser.openTab(options)
    const { page } = tab
    await page.goto(`${await adminAddress(shop)}/status`)
    await page.locator('.plot canvas').last().waitFor()
    expect(await violations(page), JSON.stringify(options)).toEqual([])
    const widths = await page.evaluate<number[]>('[document.documentElement.scrollWidth, innerWidth]')
    expect(widths[0]).toBe(widths[1])
  }
})

test('the lines of a chart differ in more than their colour', async () => {
  await using tab = await browser.openTab()
  const { page } = tab
  await page.goto(`${await adminAddress(shop)}/status`)
  const alike = await page.evaluate(`
    const lookOf = line => (({ borderTopStyle, borderTopWidth }) => borderTopStyle + borderTopWidth)(getComputedStyle(line))
    const charts = [...document.querySelectorAll('section')].filter(chart => {
      const lines = [...chart.querySelectorAll('.line')]
      return new Set(lines.map(lookOf)).size < lines.length
    })
    charts.map(chart => chart.querySelector('h2').textContent)
  `)
  expect(alike).toEqual([])
})

test('when the server goes, the page says so, and goes on when it is back', async () => {
  const port = await freePort()
  const flags = [...WITH_METRICS, '--admin-port', String(port)]
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await using tab = await browser.openTab()
  const { page } = tab
  const service = await startService(`sqlite:${file}`, { flags })
  await page.goto(`http://127.0.0.1:${port}/status`)
  await page.getByText('Live').waitFor()
  // Until it has drawn, it may load itself again, because the server has more charts by now.
  await page.locator('.plot canvas').last().waitFor()
  expect(await service.stop()).toBe(0)
  // An open stream of an operator does not hold up the end: only an orderly one removes the log.
  expect(existsSync(`${file}-wal`)).toBe(false)
  await page.getByText('The connection was lost').waitFor()
  await using _again = await startService(`sqlite:${file}`, { flags })
  await page.getByText('Live').waitFor()
})

test('a chart has each point once, however often the connection was lost', async () => {
  await using tab = await browser.openTab({ hasRoutes: true })
  const { page } = tab
  let opened = 0
  // Each connection breaks off after one event.
  await page.route('**/status/events*', route => {
    opened += 1
    const points = { isFirst: opened === 1, times: [opened], series: Array(100).fill([1]) }
    const body = `retry: 10\nevent: Points\ndata: ${JSON.stringify(points)}\n\n`
    return route.fulfill({ contentType: 'text/event-stream', body })
  })
  await page.goto(`${await adminAddress(shop)}/status`)
  await until(async () => (await page.evaluate<number>('times.length')) >= 3)
  expect(await page.evaluate<number[]>('times.slice(0, 3)')).toEqual([1, 2, 3])
})

test('the page says why the server is not ready, and how many workers it has', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  const workers = process.platform === 'linux' ? ['--workers', '2'] : []
  await using service = await startService(`sqlite:${file}`, { flags: [...WITH_METRICS, ...workers] })
  const facts = async () => /<dl id="facts">.*?<\/dl>/s.exec(await pageOf(service))?.[0] ?? ''
  await until(async () => (await facts()).includes('<span class="ready">ready</span>'))
  if (workers.length > 0) await until(async () => (await facts()).includes('<dt>Workers</dt><dd>2</dd>'))
  renameSync(file, `${file}.gone`)
  await until(async () => (await facts()).includes('<span class="not-ready">not ready</span>'))
  expect(await facts()).toMatch(/class="trouble">[^<]+</)
  renameSync(`${file}.gone`, file)
  await until(async () => (await facts()).includes('<span class="ready">ready</span>'))
})

test('pages of other origins cannot open the stream, and the page allows no other origin', async () => {
  const address = await adminAddress(shop)
  const foreign = await fetch(`${address}/status/events`, { headers: { Origin: 'https://evil.example' } })
  expect(foreign.status).toBe(403)
  const page = await fetch(`${address}/status`)
  expect(page.headers.get('Content-Security-Policy')).toContain("default-src 'self'")
  expect(page.headers.get('Cache-Control')).toBe('no-store')
  expect((await fetch(address)).url).toBe(`${address}/status`)
})

async function pageOf(service: Service): Promise<string> {
  return (await fetch(`${await adminAddress(service)}/status`)).text()
}

/** The text of a chart's table at this moment. */
async function figureOf(page: Page, chart: string, line: string): Promise<string> {
  const row = page.getByRole('region', { name: chart }).getByRole('row', { name: line }).first()
  return (await row.locator('td').first().textContent()) ?? ''
}

async function firstEvent(stream: Response, name: string): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const bytes of stream.body ?? []) {
    text += decoder.decode(bytes, { stream: true })
    const found = new RegExp(`event: ${name}\ndata: (.*)\n\n`).exec(text)?.[1]
    if (found !== undefined) return found
  }
  throw new Error(`no event ${name} in: ${text}`)
}
