import { expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { spawn } from 'bun'
import { childrenOf } from '../../test/harness/process-tree.ts'
import { commandLine, surroundingsOf } from '../../test/harness/service.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'
import { until } from '../../test/harness/until.ts'

setDefaultTimeout(120_000)

test.skipIf(process.platform !== 'linux')(
  'a signal to the whole process group stops workers that are still starting, and is no failure of theirs',
  async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      using folder = temporaryFolder()
      const place = ['--host', '127.0.0.1', '--port', '0', '--database', `sqlite:${join(folder.path, 'shop.db')}`]
      const service = spawn(commandLine(['serve', '--workers', '2', ...place], {}), {
        ...surroundingsOf({}),
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      await until(() => childrenOf(service.pid).length > 0)
      const [worker = 0] = childrenOf(service.pid)
      process.kill(worker, signal)
      // The signal arrives at the supervisor after it has seen the worker's end, which happens by itself only sometimes.
      await until(() => !childrenOf(service.pid).includes(worker))
      service.kill(signal)
      await service.exited
      expect({ status: service.exitCode, errors: await service.stderr.text() }).toEqual({ status: 0, errors: '' })
    }
  },
)
