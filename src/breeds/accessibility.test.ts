import { expect, setDefaultTimeout, test } from 'bun:test'
import { screens, violations } from '../../test/harness/browser/accessibility.ts'
import { openBrowser } from '../../test/harness/browser/chromium.ts'
import { startServer } from '../../test/harness/service.ts'

/** Unpacking and starting a browser takes long on a busy machine. */
const BROWSER_TIMEOUT_MS = 120_000

setDefaultTimeout(BROWSER_TIMEOUT_MS)

test('axe finds nothing wrong with the breeds page, on a phone and a desktop, light and dark', async () => {
  await using browser = await openBrowser()
  await using breeds = await startServer(['breeds', '--host', '127.0.0.1', '--port', '0'])
  for (const options of screens()) {
    await using tab = await browser.openTab(options)
    const { page } = tab
    await page.goto(breeds.address)
    await page.locator('#shown li').first().waitFor()
    expect(await violations(page), JSON.stringify(options)).toEqual([])
  }
})
