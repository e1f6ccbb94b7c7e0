import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { screens, violations } from '../../test/harness/browser/accessibility.ts'
import { openBrowser, type Tab, type TestBrowser } from '../../test/harness/browser/chromium.ts'
import { firefoxPath, openFirefox } from '../../test/harness/browser/firefox.ts'
import { reusingTabs } from '../../test/harness/browser/reused-tabs.ts'
import { LOOPBACK } from '../../test/harness/loopback.ts'
import { manualClock } from '../../test/harness/manual-clock.ts'
import { type ListServicePeer, listAnswer, listService } from '../../test/harness/peers/list-service.ts'
import { type Service, startServer } from '../../test/harness/service.ts'
import { openHttpProxy } from '../../test/harness/tcp-proxy.ts'
import { until } from '../../test/harness/until.ts'
import { listen } from '../server/listen.ts'
import { createBreeds } from './app.ts'

/** Unpacking and starting a browser takes long on a busy machine. */
const BROWSER_TIMEOUT_MS = 120_000

/** A browser reconnects about five seconds after its stream has ended. */
const RECONNECT_WATCH_MS = 10_000

setDefaultTimeout(BROWSER_TIMEOUT_MS)

/** The page takes its connection for dead after half of this time without an event. */
const LONG_SILENCE_MS = 60_000

/** The pause between two events. */
const STEP_MS = 200

const NAMES = ['akita', 'boxer', 'corgi', 'dalmatian']

let browser: TestBrowser
beforeAll(async () => {
  browser = reusingTabs(await openBrowser())
}, BROWSER_TIMEOUT_MS)
afterAll(() => browser[Symbol.asyncDispose]())

test('names arrive one by one and in order, each under the status that more are coming, until there are no more', async () => {
  await using service = listService(() => listAnswer(NAMES))
  await using server = await startBreeds(service)
  await using tab = await browser.openTab({ isNew: true })
  await tab.page.addInitScript(`
    window.seen = []
    addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
      const now = document.getElementById('DogBreedNoMass').textContent + '|' + document.getElementById('DogBreed').textContent
      if (now !== window.seen.at(-1)) window.seen.push(now)
    }).observe(document.querySelector('.stage'), { childList: true, subtree: true }))
  `)
  await tab.page.goto(server.address)
  await reached(tab.page, 'done')
  expect(await tab.page.evaluate('window.seen')).toEqual([
    'More breeds are coming.|',
    ...NAMES.map(name => `More breeds are coming.|${name}`),
    'No more breeds are coming.|dalmatian',
  ])
  expect(await shownNames(tab.page)).toEqual(NAMES)
  // The page closes the stream at the last status, which may be just before the server does.
  expect(tab.complaints().filter(complaint => !complaint.includes('/dogstream'))).toEqual([])
  expect(new Set(tab.requests().map(address => new URL(address).origin))).toEqual(new Set([server.address]))
})

test('when the list has ended, the page stays as it is: no second connection, no second listing', async () => {
  await using service = listService(() => listAnswer(NAMES))
  await using server = await startBreeds(service)
  await using tab = await browser.openTab()
  await tab.page.goto(server.address)
  await reached(tab.page, 'done')
  const content = await tab.page.locator('body').innerHTML()
  // Only waiting shows that nothing happens.
  await Bun.sleep(RECONNECT_WATCH_MS)
  expect(connections(server)).toBe(1)
  expect(service.asked()).toBe(1)
  expect(await tab.page.locator('body').innerHTML()).toBe(content)
})

test('until the first name is there, the page says that it waits', async () => {
  const answering = Promise.withResolvers<void>()
  await using service = listService(async () => {
    await answering.promise
    return listAnswer(NAMES)
  })
  await using server = await startBreeds(service)
  await using tab = await browser.openTab()
  await tab.page.goto(server.address)
  await tab.page.getByText('Waiting for the list…').waitFor()
  answering.resolve()
  await tab.page.locator('#shown li').first().waitFor()
  expect(await tab.page.getByText('Waiting for the list…').isVisible()).toBe(false)
})

test('a failure of the list service is shown as the status, and the page does not ask again by itself', async () => {
  await using service = listService(() => new Response('', { status: 500 }))
  await using server = await startBreeds(service)
  await using tab = await browser.openTab()
  await tab.page.goto(server.address)
  await reached(tab.page, 'failed')
  const status = 'The list service answered with status 500. Reload the page to try again.'
  expect(await tab.page.locator('#DogBreedNoMass').textContent()).toBe(status)
  expect(await tab.page.getByRole('status').textContent()).toBe(status)
  expect(service.asked()).toBe(1)
})

test('a cut connection resumes after the last name shown, by Last-Event-ID, and the page says that it was cut', async () => {
  await using listing = await startSteppedListing()
  const { page } = listing.tab
  // Two names, and the status before the third.
  await listing.step(5)
  await page.locator('[data-id="2"]').waitFor()
  listing.cut()
  await page.locator('.interrupted').waitFor()
  expect(await page.getByRole('status').textContent()).toBe('The connection was lost. Trying again…')
  await listing.finish()
  expect(await shownNames(page)).toEqual(NAMES)
  expect(await page.locator('.interrupted').isVisible()).toBe(false)
  expect(listing.asked()).toBe(2)
  // This is the browser's own second attempt: the address is still the first one.
  expect(streamAddresses(listing.tab)).toEqual(['/dogstream?after=0'])
})

test('a connection that is cut before the browser could use the id of the last name resumes after that name', async () => {
  await using listing = await startSteppedListing()
  const { page } = listing.tab
  await listing.step(4)
  await page.locator('#shown li').nth(1).waitFor()
  expect(await page.locator('[data-id="2"]').count()).toBe(0)
  listing.cut()
  await listing.finish()
  expect(await shownNames(page)).toEqual(NAMES)
  expect(streamAddresses(listing.tab)).toEqual(['/dogstream?after=0', '/dogstream?after=2'])
})

test('if the browser gives up the connection, the new one resumes after the last name on the page', async () => {
  await using service = listService(() => listAnswer(NAMES))
  await using server = await startBreeds(service)
  await using proxy = await openHttpProxy(server.address)
  await using tab = await browser.openTab({ isNew: true })
  // As in Firefox: a cut connection closes the event source for good, and htmx opens another.
  await tab.page.addInitScript(`
    const Source = window.EventSource
    window.EventSource = class extends Source {
      constructor(url) {
        super(url)
        this.addEventListener('error', () => this.close())
      }
    }
  `)
  await tab.page.goto(proxy.address)
  await tab.page.locator('#shown li').nth(1).waitFor()
  proxy.cut()
  await reached(tab.page, 'done')
  expect(await shownNames(tab.page)).toEqual(NAMES)
})

test('a connection that dies without a word is replaced, and the list resumes after the last name on the page', async () => {
  await using service = listService(() => listAnswer(NAMES))
  await using server = await startBreeds(service)
  await using proxy = await openHttpProxy(server.address)
  await using tab = await browser.openTab({ isNew: true })
  const { page } = tab
  await page.clock.install()
  await page.goto(proxy.address)
  await page.locator('#shown li').nth(1).waitFor()
  proxy.freeze()
  proxy.replace()
  let silenceMs = LONG_SILENCE_MS
  await until(async () => {
    await page.clock.fastForward(silenceMs)
    // The page may first try another dead connection.
    silenceMs *= 2
    const done = page.locator('[data-state=done]').waitFor({ timeout: 1_000 })
    return done.then(() => true).catch(() => false)
  })
  expect(await shownNames(page)).toEqual(NAMES)
})

test.skipIf(!firefoxPath)(
  'in Firefox too, a cut connection resumes, and the page stays as it is when done',
  async () => {
    await using service = listService(() => listAnswer(NAMES))
    await using server = await startBreeds(service)
    await using proxy = await openHttpProxy(server.address)
    await using firefox = await openFirefox(firefoxPath ?? '')
    await firefox.goTo(proxy.address)
    await firefox.awaited('document.querySelectorAll("#shown li").length === 2')
    proxy.cut()
    await firefox.awaited('document.body.dataset.state === "done"')
    await Bun.sleep(RECONNECT_WATCH_MS)
    expect(await firefox.awaited('[...document.querySelectorAll("#shown li")].map(item => item.textContent)')).toEqual(
      NAMES,
    )
    expect(connections(server)).toBe(2)
  },
)

test('the page shows names that hold HTML as text', async () => {
  const name = '<img src=x onerror="window.intruded = true"> & "more"'
  await using service = listService(() => listAnswer([name]))
  await using server = await startBreeds(service)
  await using tab = await browser.openTab()
  await tab.page.goto(server.address)
  await reached(tab.page, 'done')
  expect(await tab.page.locator('#DogBreed').textContent()).toBe(name)
  expect(await shownNames(tab.page)).toEqual([name])
  expect(await tab.page.evaluate('window.intruded')).toBeUndefined()
})

test('the page fits the width of a phone, with long names, in the dark', async () => {
  await using service = listService(() => listAnswer(['x'.repeat(200)]))
  await using server = await startBreeds(service)
  await using tab = await browser.openTab({ viewport: { width: 360, height: 740 }, colorScheme: 'dark' })
  await tab.page.goto(server.address)
  await reached(tab.page, 'done')
  expect(await tab.page.evaluate('document.documentElement.scrollWidth')).toBe(360)
  expect(await tab.page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(16, 17, 23)')
})

test('axe finds nothing wrong with the breeds page, on a phone and a desktop, light and dark', async () => {
  await using service = listService(() => listAnswer(NAMES))
  await using server = await startBreeds(service)
  for (const options of screens()) {
    await using tab = await browser.openTab(options)
    const { page } = tab
    await page.goto(server.address)
    await page.locator('#shown li').first().waitFor()
    expect(await violations(page), JSON.stringify(options)).toEqual([])
  }
})

function startBreeds(service: ListServicePeer): Promise<Service> {
  return startServer(['breeds', '--host', '127.0.0.1', '--port', '0', '--breeds-url', service.url])
}

/** An open page whose events the test sends, over connections that it can cut. */
async function startSteppedListing() {
  await using open = new AsyncDisposableStack()
  const service = open.use(listService(() => listAnswer(NAMES)))
  const clock = manualClock()
  const app = createBreeds({ listUrl: service.url, clock })
  const server = open.use(listen({ app, ...LOOPBACK }))
  const proxy = open.use(await openHttpProxy(server.address))
  const tab = open.use(await browser.openTab({ isNew: true }))
  // A browser sends this in Last-Event-ID.
  await tab.page.addInitScript(`
    document.addEventListener('htmx:sseMessage', event => { document.body.dataset.id = event.detail.lastEventId })
  `)
  await tab.page.goto(proxy.address)
  const next = async () => {
    await clock.waitedFor(STEP_MS)
    clock.advance(STEP_MS)
  }
  const whole = open.move()
  return {
    tab,
    asked: service.asked,
    cut: proxy.cut,
    step: async (events: number) => {
      for (let times = 0; times < events; times++) await next()
    },
    finish: async () => {
      const done = reached(tab.page, 'done').then(() => 'done')
      while ((await Promise.race([done, next()])) !== 'done') {}
    },
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  }
}

function reached(page: Page, state: 'done' | 'failed'): Promise<void> {
  return page.locator(`[data-state=${state}]`).waitFor()
}

function shownNames(page: Page): Promise<string[]> {
  return page.locator('#shown li').allTextContents()
}

/** As the server counts them. */
function connections(server: Service): number {
  return server
    .errors()
    .split('\n')
    .filter(line => line.includes('GET /dogstream')).length
}

/** The distinct ones, in request order. */
function streamAddresses(tab: Tab): string[] {
  const addresses = tab.requests().map(address => address.slice(new URL(address).origin.length))
  return [...new Set(addresses.filter(address => address.startsWith('/dogstream')))]
}
