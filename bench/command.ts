import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage } from '../src/error-message.ts'
import { BENCH, NODE } from './catalog/servers.ts'
import { hasLoadGenerator } from './load-generator.ts'
import { type BenchOptions, helpOf, readOptions, UsageError } from './options.ts'

/** The exit status of a program that was interrupted, as shells have it. */
const INTERRUPTED_STATUS = 130

/** Runs a bench of servers from its command line to its exit status. */
export async function runBench(
  name: string,
  parts: readonly string[],
  run: (options: BenchOptions, interrupted: AbortSignal) => Promise<void>,
): Promise<number> {
  const interruption = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => interruption.abort())
  try {
    const options = readOptions(process.argv.slice(2))
    if (options === null) {
      process.stdout.write(helpOf(name, parts))
      return 0
    }
    if (!hasLoadGenerator()) throw new UsageError('wrk is not here; get it, for example with: apt-get install wrk')
    await installPeers(interruption.signal)
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

/** The peers' dependencies are the bench's alone; the product never installs them. */
async function installPeers(interrupted: AbortSignal): Promise<void> {
  if (existsSync(NODE) && existsSync(join(BENCH, 'node_modules', 'postgres'))) return
  console.error('installing the peers with npm ci')
  const npm = Bun.spawn(['npm', 'ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: BENCH,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
    signal: interrupted,
  })
  const status = await npm.exited
  interrupted.throwIfAborted()
  if (status !== 0) throw new Error(`npm ci ended with status ${status}`)
}
