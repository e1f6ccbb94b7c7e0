import axe from 'axe-core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { z } from 'zod'

export const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }
export const DESKTOP = { viewport: { width: 1200, height: 800 } }

const Violations = z.array(z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string() })) }))

/** A phone and a desktop, light and dark. Without motion: axe would measure the contrast of text that is still fading in. */
export function screens(): BrowserContextOptions[] {
  return [PHONE, DESKTOP].flatMap(size => [
    { ...size, colorScheme: 'light', reducedMotion: 'reduce' },
    { ...size, colorScheme: 'dark', reducedMotion: 'reduce' },
  ])
}

/** The findings of axe on the page, one line for each element. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const found = await page.evaluate('axe.run().then(({ violations }) => violations)')
  return Violations.parse(found).flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}
