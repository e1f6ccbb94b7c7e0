import { readFileSync } from 'node:fs'
import { childrenOf } from '../test/harness/process-tree.ts'

/** Time for a server to print its address. */
const START_MAX_MS = 20_000

/** Time for a server to stop before it is killed. */
const STOP_MAX_MS = 8_000

/** The tail of standard error to show if a server does not start. */
const DIAGNOSTICS_MAX_CHARACTERS = 4_000

/** The unit of CPU times in /proc, on every machine that Bun runs on. */
const TICKS_PER_SECOND = 100

/** Includes the character after the port, because a line may arrive in parts. */
const ADDRESS = /(http:\/\/127\.0\.0\.1:\d+)\D/

export interface ServerCommand {
  readonly name: string
  readonly command: readonly string[]
  readonly directory: string
  readonly environment: Readonly<Record<string, string>>
}

/** A server that accepts requests. Disposing stops it. */
export interface RunningServer extends AsyncDisposable {
  readonly address: string
  readonly processId: number
  /** The CPU time so far, with that of its children, on all cores; null if the system does not tell. */
  readonly processorSeconds: () => number | null
}

/** Starts a server and waits until it prints its address to standard output. */
export async function startServer(server: ServerCommand, interrupted: AbortSignal): Promise<RunningServer> {
  interrupted.throwIfAborted()
  const child = Bun.spawn([...server.command], {
    cwd: server.directory,
    env: { ...process.env, ...server.environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    signal: interrupted,
  })
  const diagnostics = tailOf(child.stderr)
  const stop = async () => {
    child.kill('SIGTERM')
    const killing = setTimeout(() => child.kill('SIGKILL'), STOP_MAX_MS)
    await child.exited
    clearTimeout(killing)
  }

  const address = await Promise.race([
    addressIn(child.stdout),
    child.exited.then(() => null),
    new Promise<null>(resolve => setTimeout(resolve, START_MAX_MS, null).unref()),
  ])
  if (address !== null) {
    return {
      address,
      processId: child.pid,
      processorSeconds: () => processorSecondsOfFamily(child.pid),
      [Symbol.asyncDispose]: stop,
    }
  }
  await stop()
  interrupted.throwIfAborted()
  throw new Error(`${server.name} did not start: ${(await diagnostics).trim() || 'no output'}`)
}

/** Keeps reading after the address, so that the server never blocks on a full pipe. */
function addressIn(output: ReadableStream<Uint8Array>): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    read(output, part => {
      if (ADDRESS.test(text)) return
      text += part
      const [, address] = ADDRESS.exec(text) ?? []
      if (address !== undefined) resolve(address)
    }).catch(reject)
  })
}

async function tailOf(output: ReadableStream<Uint8Array>): Promise<string> {
  let text = ''
  await read(output, part => {
    text = (text + part).slice(-DIAGNOSTICS_MAX_CHARACTERS)
  })
  return text
}

/** The CPU time of a process and all its children, including ended ones; null if the system does not tell. */
export function processorSecondsOfFamily(processId: number): number | null {
  const parent = statusOf(processId)
  if (!parent) return null
  const children = childrenOf(processId).flatMap(child => statusOf(child) ?? [])
  const own = parent.user + parent.system + parent.endedUser + parent.endedSystem
  return children.reduce((sum, { user, system }) => sum + user + system, own) / TICKS_PER_SECOND
}

/** The processor time of the first thread of a process, in milliseconds. Linux only. */
export function workMilliseconds(processId: number): number {
  const [nanoseconds] = readFileSync(`/proc/${processId}/task/${processId}/schedstat`, 'utf8').split(' ', 1)
  return Number(nanoseconds) / 1e6
}

/** Linux only. */
export function memoryKibibytes({ processId }: RunningServer): number {
  const [, kibibytes = ''] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${processId}/status`, 'utf8')) ?? []
  return Number(kibibytes)
}

/** The status of a process on Linux, with times in ticks. */
function statusOf(processId: number) {
  const file = `/proc/${processId}/stat`
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return null
  }
  // The second field is the program's name in parentheses, and may contain spaces. See proc_pid_stat(5) for the others.
  const [, fields = ''] = text.split(/\) (?=\S )/)
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.split(' ').slice(11, 15).map(Number)
  return { user, system, endedUser, endedSystem }
}

async function read(stream: ReadableStream<Uint8Array>, take: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder()
  for await (const bytes of stream) take(decoder.decode(bytes, { stream: true }))
}
