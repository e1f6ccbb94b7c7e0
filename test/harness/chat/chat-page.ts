import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import type { Tab } from '../browser/chromium.ts'

export async function answered(page: Page): Promise<void> {
  await page.locator('#chat:not([sse-connect])').waitFor({ state: 'attached' })
}

/** A stream that the page has left is no fault. */
export function complaints(tab: Tab): string[] {
  return tab.complaints().filter(complaint => !/^failed: \S+\/chatstream\/\S+ net::ERR_ABORTED$/.test(complaint))
}

/** Who said what, as it is shown. */
export async function messages(page: Page): Promise<[sender: string, text: string][]> {
  const shown = await page.locator('.message').all()
  return Promise.all(
    shown.map(async message => [
      (await message.locator('.sender').textContent()) ?? '',
      ((await message.locator('.bubble').textContent()) ?? '').trim(),
    ]),
  )
}

export async function expectLastMessages(page: Page, ...expected: [sender: string, text: string][]): Promise<void> {
  expect((await messages(page)).slice(-expected.length)).toEqual(expected)
}
