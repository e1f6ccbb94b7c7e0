import { resolve } from 'node:path'
import { spawn } from 'bun'

/** The program as a user runs it: a process of its own. */
const PROGRAM = [process.execPath, resolve(import.meta.dir, '../src/cli.ts')] as const

const READY_LINE = /^stockroom serves .* at (http:\/\/[^\s,]+)/m

export interface Service extends AsyncDisposable {
  readonly address: string
  readonly processId: number
  /** What it has printed so far. */
  readonly output: () => string
  readonly errors: () => string
  /** Ends it with a signal; resolves to the exit status, or null when the signal killed it. */
  readonly stop: (signal?: 'SIGTERM' | 'SIGINT' | 'SIGKILL') => Promise<number | null>
}

/** Starts `stockroom serve` on a free port of this machine and waits until it says that it is ready. */
export async function startService(
  databaseUrl: string,
  { flags = [], environment = {} }: { flags?: readonly string[]; environment?: Record<string, string> } = {},
): Promise<Service> {
  const child = spawn(
    [...PROGRAM, 'serve', '--host', '127.0.0.1', '--port', '0', '--database', databaseUrl, ...flags],
    {
      env: { ...cleanEnvironment(), ...environment },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    },
  )
  const errors = collect(child.stderr)
  const output = collect(child.stdout)
  while (!READY_LINE.test(output.text())) {
    if ((await output.next()) === 'end') {
      await errors.whole
      throw new Error(`the service did not start: ${errors.text()}`)
    }
  }
  const stop = async (signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL' = 'SIGTERM') => {
    child.kill(signal)
    await child.exited
    await errors.whole
    return child.exitCode
  }
  return {
    address: READY_LINE.exec(output.text())?.[1] ?? '',
    processId: child.pid,
    output: output.text,
    errors: errors.text,
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop()
    },
  }
}

interface Run {
  readonly status: number | null
  readonly output: string
  readonly errors: string
}

/** Runs the program to its end, in a folder of its own choosing. */
export async function run(
  argv: readonly string[],
  { environment = {}, folder }: { environment?: Record<string, string>; folder?: string } = {},
): Promise<Run> {
  const child = spawn([...PROGRAM, ...argv], {
    env: { ...cleanEnvironment(), ...environment },
    ...(folder !== undefined && { cwd: folder }),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()])
  await child.exited
  return { status: child.exitCode, output, errors }
}

/** Without the settings of whoever runs the tests. */
function cleanEnvironment(): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' }
}

/** Reads a stream as it comes. */
function collect(stream: ReadableStream<Uint8Array>) {
  const decoder = new TextDecoder()
  let text = ''
  let changed = Promise.withResolvers<'more' | 'end'>()
  const whole = (async () => {
    for await (const bytes of stream) {
      text += decoder.decode(bytes, { stream: true })
      changed.resolve('more')
      changed = Promise.withResolvers()
    }
    changed.resolve('end')
  })()
  return { text: () => text, next: () => changed.promise, whole }
}
