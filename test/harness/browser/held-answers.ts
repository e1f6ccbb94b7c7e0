import type { Page } from 'playwright-core'

/** Holds back the answers to what a page asks of an address, until they may pass. */
export async function holdBack(page: Page, address: string | RegExp) {
  const asked = Promise.withResolvers<void>()
  const passing = Promise.withResolvers<void>()
  await page.route(address, async route => {
    asked.resolve()
    await passing.promise
    // The page may have given it up.
    await route.continue().catch(() => {})
  })
  return { isAsked: asked.promise, letPass: () => passing.resolve() }
}
