import type { Locator } from 'playwright-core'

/** Whether the page leaves a click with Ctrl to the browser, which opens another tab for it, but not each time in headless mode. */
export async function opensOtherTab(link: Locator): Promise<boolean> {
  const page = link.page()
  await page.evaluate(`
    window.isPrevented = null
    addEventListener('click', event => setTimeout(() => { window.isPrevented = event.defaultPrevented }), { capture: true, once: true })
  `)
  await link.click({ modifiers: ['ControlOrMeta'] })
  await page.waitForFunction('window.isPrevented !== null')
  return (await page.evaluate('window.isPrevented')) === false
}
