import { expect, setDefaultTimeout, test } from 'bun:test'
import { join, resolve } from 'node:path'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { startAtTerminal } from '../../../test/harness/terminal/talk.ts'

setDefaultTimeout(120_000)

const ROOT = resolve(import.meta.dir, '../../..')
const BASH = Bun.which('bash')

test.skipIf(BASH === null)('Ctrl-Z stops the chat and fg brings it back, with the program alone', async () => {
  await stopsAndGoesOn(`${process.execPath} src/cli.ts talk`)
})

test.skipIf(BASH === null)('Ctrl-Z stops the chat and fg brings it back, with the launcher beside it', async () => {
  await stopsAndGoesOn("node --import 'data:text/javascript,delete process.execve' bin/stockroom.js talk")
})

test.skipIf(BASH === null)('Ctrl-Z stops the chat and fg brings it back, with npm above it', async () => {
  await stopsAndGoesOn('npm run talk --')
})

/** At an interactive shell, as a person would. */
async function stopsAndGoesOn(command: string): Promise<void> {
  using folder = temporaryFolder()
  await using session = startAtTerminal(['--norc', '--noprofile', '-i'], {
    program: ['bash'],
    folder: ROOT,
    // Otherwise npm may add a note about its own version, once in a while and in a new home.
    environment: { PS1: 'shell> ', npm_config_update_notifier: 'false' },
  })
  await session.shows('shell>')
  session.type(`${command} --database 'sqlite:${join(folder.path, 'talk.db')}'\r`)
  await session.shows(/\[L\]og in or \[R\]egister\?[^\n]*$/)
  session.type('\x1a')
  await session.shows(/Stopped[\s\S]*shell>$/)
  session.type('fg\r')
  await session.shows(/fg\n[\s\S]*\[L\]og in or \[R\]egister\?[^\n]*$/)
  session.type('R\rada\rsesame\r')
  await session.shows(/^ada>$/m)
  session.type('quit\r')
  await session.shows(/ada> quit\n+shell>$/)
  session.type('echo status $?\r')
  await session.shows('status 0')
  expect(session.screen()).not.toContain('^Z')
}
