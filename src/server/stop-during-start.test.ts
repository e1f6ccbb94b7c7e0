import { Database } from 'bun:sqlite'
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readlinkSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { spawn } from 'bun'
import { childrenOf } from '../../test/harness/process-tree.ts'
import { commandLine, run, surroundingsOf } from '../../test/harness/service.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'
import { until } from '../../test/harness/until.ts'

setDefaultTimeout(120_000)

test.skipIf(process.platform !== 'linux')(
  'a signal to the whole process group stops workers that are still starting, and is no failure of theirs',
  async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      await until(async () => {
        using folder = temporaryFolder()
        const service = start(join(folder.path, 'shop.db'), '2')
        await until(() => childrenOf(service.pid).length > 0)
        const [worker = 0] = childrenOf(service.pid)
        process.kill(worker, signal)
        // The signal arrives at the supervisor after it has seen the worker's end, which happens by itself only sometimes.
        await until(() => !childrenOf(service.pid).includes(worker))
        service.kill(signal)
        await service.exited
        const [output, errors] = await Promise.all([service.stdout.text(), service.stderr.text()])
        // If the machine pauses, workers may have started before the signal comes.
        if (output !== '' || errors.includes('stopping: 0 requests')) return false
        expect({ status: service.exitCode, errors }).toEqual({ status: 0, errors: '' })
        return true
      })
    }
  },
)

describe.skipIf(process.platform !== 'linux')('a service that waits for another process on its file', () => {
  test('stops in order while the other one makes the same new file', async () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'shop.db')
    using other = new Database(file, { create: true })
    other.run('BEGIN IMMEDIATE')
    await expectStop(file)
  })

  test('stops in order while the other one migrates the file', async () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'shop.db')
    expect(await run(['seed', '--products', '1', '--database', `sqlite:${file}`])).toMatchObject({ status: 0 })
    using other = new Database(file)
    other.run('DELETE FROM migrations')
    other.run('BEGIN IMMEDIATE')
    await expectStop(file)
  })
})

/** Starts a service that cannot go on, and stops it. */
async function expectStop(file: string): Promise<void> {
  const service = start(file, '1')
  // It handles signals before it opens the file.
  await until(() => filesOf(service.pid).includes(realpathSync(file)))
  service.kill('SIGTERM')
  await service.exited
  const errors = (await service.stderr.text()).split('\n').filter(line => !line.includes('is locked by'))
  expect({ status: service.exitCode, errors }).toEqual({ status: 0, errors: [''] })
}

function start(file: string, workers: string) {
  const place = ['--host', '127.0.0.1', '--port', '0', '--database', `sqlite:${file}`]
  return spawn(commandLine(['serve', '--workers', workers, ...place], {}), {
    ...surroundingsOf({}),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** The files that a process has open. */
function filesOf(processId: number): string[] {
  const folder = `/proc/${processId}/fd`
  try {
    return readdirSync(folder).map(descriptor => readlinkSync(join(folder, descriptor)))
  } catch {
    // A descriptor was closed meanwhile.
    return []
  }
}
