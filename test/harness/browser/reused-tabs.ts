import type { Tab, TestBrowser } from './chromium.ts'

/**
 * The browser, but a tab without options other than `hasRoutes` may be one that an earlier test has closed: a page in a fresh
 * profile costs as much as loading it twice. Nothing of the earlier test is left in it.
 */
export function reusingTabs(browser: TestBrowser): TestBrowser {
  const closedTabs = { withRoutes: [] as Tab[], withoutRoutes: [] as Tab[] }
  return {
    openTab: async ({ hasRoutes = false, ...options } = {}) => {
      if (Object.keys(options).length > 0) return browser.openTab({ hasRoutes, ...options })
      const closed = closedTabs[hasRoutes ? 'withRoutes' : 'withoutRoutes']
      const tab = closed.pop() ?? (await browser.openTab({ hasRoutes }))
      const [requests, complaints] = [tab.requests().length, tab.complaints().length]
      return {
        page: tab.page,
        requests: () => tab.requests().slice(requests),
        complaints: () => tab.complaints().slice(complaints),
        [Symbol.asyncDispose]: async () => {
          try {
            await leave(tab)
            closed.push(tab)
          } catch {
            // It is still on its way to another page.
            await tab[Symbol.asyncDispose]()
          }
        },
      }
    },
    [Symbol.asyncDispose]: () => browser[Symbol.asyncDispose](),
  }
}

async function leave({ page }: Tab): Promise<void> {
  page.removeAllListeners('dialog')
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  // After the page itself has stored something.
  await page.evaluate(
    `addEventListener('pagehide', () => { try { localStorage.clear(); sessionStorage.clear() } catch {} })`,
  )
  await page.goto('about:blank')
  await page.context().clearCookies()
}
