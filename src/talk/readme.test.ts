import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'
import { startAtTerminal } from '../../test/harness/terminal/talk.ts'

const README = readFileSync(resolve(import.meta.dir, '../../README.md'), 'utf8')

test('the session in the README is what you get, with the demo model and without a network', async () => {
  const [, recorded = ''] = /````text\n(.*?)````/s.exec(README) ?? []
  using folder = temporaryFolder()
  await using session = startAtTerminal(['talk'], { folder: folder.path })
  await session.shows('egister?')
  session.type('R\rada\rsesame\r')
  await session.shows(/ada>$/)
  session.type('What are you?\r')
  await session.shows(/answers\.\n\nada>$/)
  session.type('quit\r')
  expect(await session.ended).toBe(0)
  expect(`${session.screen()}\n`).toBe(recorded)
})
