import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { z } from 'zod'

export const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }
export const DESKTOP = { viewport: { width: 1200, height: 800 } }

const require = createRequire(import.meta.url)
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

const Violations = z.array(z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string() })) }))

/** All rules of axe in light colours, and in dark ones those that look at colours. */
const LOOKS = [
  { colorScheme: 'light', options: { resultTypes: ['violations'] } },
  { colorScheme: 'dark', options: { resultTypes: ['violations'], runOnly: ['color-contrast', 'link-in-text-block'] } },
] as const

/** A phone and a desktop. */
export function screens(): BrowserContextOptions[] {
  return [PHONE, DESKTOP]
}

/** The findings of axe on the page, light and dark, one line for each element. */
export async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE)
  const lines: string[] = []
  for (const { colorScheme, options } of LOOKS) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const found = await page.evaluate(`axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`)
    for (const { id, nodes } of Violations.parse(found)) {
      lines.push(...nodes.map(({ html }) => `${colorScheme}: ${id}: ${html}`))
    }
  }
  await page.emulateMedia({ colorScheme: 'light' })
  return lines
}
