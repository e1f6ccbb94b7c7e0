import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import type { ModelCall } from '../peers/model-server.ts'
import type { ChatServer } from './chat-server.ts'

/** Sends a prompt from the page; resolves when the model is asked. */
export async function send(page: Page, text: string, { model }: ChatServer): Promise<ModelCall> {
  await page.getByLabel('Your message').fill(text)
  await page.keyboard.press('Enter')
  return model.nextCall()
}

/** Resolves when the page has left the stream of its answer. */
export async function answered(page: Page): Promise<void> {
  await page.locator('#chat:not([sse-connect])').waitFor({ state: 'attached' })
}

/** The shown messages, each with its sender. */
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
