import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type ListServicePeer, listAnswer, listService } from '../peers/list-service.ts'
import { type Service, startServer } from '../service.ts'
import { openBrowser, type TestBrowser } from './browser.ts'
import { cuttingProxy } from './cutting-proxy.ts'

/** To unpack and start a browser takes its time on a busy machine. */
const BROWSER_TIMEOUT_MS = 60_000

/** A browser whose stream has ended connects again after some three seconds. */
const RECONNECT_WATCH_MS = 10_000

setDefaultTimeout(BROWSER_TIMEOUT_MS)

const NAMES = ['akita', 'boxer', 'corgi', 'dalmatian']

let browser: TestBrowser
beforeAll(async () => {
  browser = await openBrowser()
}, BROWSER_TIMEOUT_MS)
afterAll(() => browser[Symbol.asyncDispose]())

function startBreeds(service: ListServicePeer): Promise<Service> {
  return startServer(['breeds', '--host', '127.0.0.1', '--port', '0', '--breeds-url', service.url])
}

test('names arrive one by one and in order, each under the status that more are coming, until there are no more', async () => {
  await using service = listService(() => listAnswer(NAMES))
  await using server = await startBreeds(service)
  await using tab = await browser.openTab()
  await tab.page.addInitScript(`
    window.seen = []
    addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
      const now = document.getElementById('DogBreedNoMass').textContent + '|' + document.getElementById('DogBreed').textContent
      if (now !== window.seen.at(-1)) window.seen.push(now)
    }).observe(document.querySelector('.stage'), { childList: true, subtree: true }))
  `)
  await tab.page.goto(server.address)
  await tab.page.getByText('No more breeds are coming.').waitFor()
  expect(await tab.page.evaluate('window.seen')).toEqual([
    'More breeds are coming.|',
    ...NAMES.map(name => `More breeds are coming.|${name}`),
    'No more breeds are coming.|dalmatian',
  ])
  expect(await tab.page.locator('#shown li').allTextContents()).toEqual(NAMES)
  expect(tab.complaints()).toEqual([])
  expect(new Set(tab.requests().map(address => new URL(address).origin))).toEqual(new Set([server.address]))
})

test('when the list has ended the page stays as it is: no second connection, no second listing', async () => {
  await using service = listService(() => listAnswer(NAMES))
  await using server = await startBreeds(service)
  await using tab = await browser.openTab()
  await tab.page.goto(server.address)
  await tab.page.getByText('No more breeds are coming.').waitFor()
  // That nothing happens can only be seen by waiting.
  await Bun.sleep(RECONNECT_WATCH_MS)
  expect(service.asked()).toBe(1)
  expect(tab.requests().filter(address => address.includes('/dogstream'))).toHaveLength(1)
  expect(await tab.page.locator('#shown li').allTextContents()).toEqual(NAMES)
})

test('a failure of the list service is shown as the status, and the page does not ask again by itself', async () => {
  await using service = listService(() => new Response('', { status: 500 }))
  await using server = await startBreeds(service)
  await using tab = await browser.openTab()
  await tab.page.goto(server.address)
  await tab.page.getByText('it answered with status 500').waitFor()
  await tab.page.locator('[data-state=ended]').waitFor()
  expect(service.asked()).toBe(1)
})

test('a connection that is cut goes on after the last name shown, by Last-Event-ID', async () => {
  await using service = listService(() => listAnswer(NAMES))
  await using server = await startBreeds(service)
  await using proxy = cuttingProxy(server.address)
  await using tab = await browser.openTab()
  await tab.page.goto(proxy.address)
  await tab.page.locator('#shown li').nth(1).waitFor()
  proxy.cut()
  await tab.page.getByText('No more breeds are coming.').waitFor()
  expect(await tab.page.locator('#shown li').allTextContents()).toEqual(NAMES)
  expect(service.asked()).toBe(2)
})

test('where the browser gives the connection up, the new one goes on after the last name that the page has', async () => {
  await using service = listService(() => listAnswer(NAMES))
  await using server = await startBreeds(service)
  await using proxy = cuttingProxy(server.address)
  await using tab = await browser.openTab()
  // As Firefox does it: a connection that is cut ends the source for good, and htmx makes another.
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
  await tab.page.getByText('No more breeds are coming.').waitFor()
  expect(await tab.page.locator('#shown li').allTextContents()).toEqual(NAMES)
})

test('names that hold HTML are shown as text', async () => {
  const name = '<img src=x onerror="window.intruded = true"> & "more"'
  await using service = listService(() => listAnswer([name]))
  await using server = await startBreeds(service)
  await using tab = await browser.openTab()
  await tab.page.goto(server.address)
  await tab.page.getByText('No more breeds are coming.').waitFor()
  expect(await tab.page.locator('#DogBreed').textContent()).toBe(name)
  expect(await tab.page.evaluate('window.intruded')).toBeUndefined()
})

test('the page fits the width of a phone, with long names, in the dark', async () => {
  await using service = listService(() => listAnswer(['x'.repeat(200)]))
  await using server = await startBreeds(service)
  await using tab = await browser.openTab({ viewport: { width: 360, height: 740 }, colorScheme: 'dark' })
  await tab.page.goto(server.address)
  await tab.page.getByText('No more breeds are coming.').waitFor()
  expect(await tab.page.evaluate('document.documentElement.scrollWidth')).toBe(360)
  expect(await tab.page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(18, 19, 26)')
})
