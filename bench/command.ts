import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage } from '../src/program/error-message.ts'
import { BENCH, NODE } from './catalog/servers.ts'
import { hasLoadGenerator } from './load-generator.ts'
import { UsageError } from './options.ts'

/** The shells' exit status for an interrupted program. */
const INTERRUPTED_STATUS = 130

/** Runs a bench and resolves to its exit status. `read` returns null if there is nothing to run. */
export async function runBench<Options>(
  read: () => Options | null,
  run: (options: Options, interrupted: AbortSignal) => Promise<void>,
  needsLoadGenerator: (options: Options) => boolean = () => true,
): Promise<number> {
  const interruption = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => interruption.abort())
  try {
    const options = read()
    if (options === null) return 0
    if (needsLoadGenerator(options) && !hasLoadGenerator()) {
      throw new UsageError('wrk is not installed; install it, for example with: apt-get install wrk')
    }
    await run(options, interruption.signal)
    return 0
  } catch (error) {
    if (interruption.signal.aborted) return INTERRUPTED_STATUS
    console.error(`bench: ${errorMessage(error)}`)
    return error instanceof UsageError ? 2 : 1
  }
}

export async function temporaryFolder(parent: string): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(parent, 'stockroom-bench-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** The peers have a package.json of their own, so that the product never installs their dependencies. */
export async function installPeers(interrupted: AbortSignal): Promise<void> {
  if (existsSync(NODE) && existsSync(join(BENCH, 'node_modules', 'postgres'))) return
  console.error('installing the peers with npm ci')
  await execute(['npm', 'ci', ...NPM_QUIET], BENCH, interrupted)
}

export const NPM_QUIET = ['--no-audit', '--no-fund', '--loglevel=error']

/** Runs a program that must succeed, and resolves to its output. */
export async function execute(command: string[], directory: string, interrupted: AbortSignal): Promise<string> {
  const child = Bun.spawn(command, {
    cwd: directory,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
    signal: interrupted,
  })
  const [output, status] = await Promise.all([child.stdout.text(), child.exited])
  interrupted.throwIfAborted()
  if (status !== 0) throw new Error(`${command.join(' ')} ended with status ${status}`)
  return output
}
