import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { spawn } from 'bun'
import type { StopSignal } from '../../src/program/stop-signals.ts'
import { EXECUTABLE_VARIABLE } from './executable.ts'
import './no-proxy.ts'
import { ofPrograms } from './runtime.ts'

/** The program as `npm start` and the npm package run it. */
export const SOURCE: readonly string[] = [process.execPath, resolve(import.meta.dir, '../../src/cli.ts')]

/** The source, with time limits that end sooner. */
export const WITH_FAST_CLOCK: readonly string[] = [
  process.execPath,
  '--preload',
  resolve(import.meta.dir, 'fast-clock.ts'),
  resolve(import.meta.dir, '../../src/cli.ts'),
]

/**
 * The program as a user runs it: as its own process. `npm test` runs the executable, which starts in a third of the time;
 * a test file that runs alone runs the source.
 */
const executable = process.env[EXECUTABLE_VARIABLE]
const PROGRAM = executable ? [executable] : SOURCE

const READY_LINE = /^stockroom serves .* at (http:\/\/[^\s,]+)/m

export interface Service extends AsyncDisposable {
  readonly address: string
  readonly processId: number
  /** Its output so far. */
  readonly output: () => string
  readonly errors: () => string
  /** Sends a signal; resolves to the exit status, or null if the signal killed it. */
  readonly stop: (signal?: StopSignal | 'SIGKILL') => Promise<number | null>
}

/** How a process starts. */
export interface Surroundings {
  readonly environment?: Record<string, string>
  /** The working folder; by default that of the tests. */
  readonly folder?: string
  /** Another program that ends by executing ours, such as `bash -c 'exec "$@"' bash`. */
  readonly through?: readonly string[]
  /** The program to run; by default the executable of `npm test`, or the source. */
  readonly program?: readonly string[]
}

/** Starts `stockroom serve` on a free loopback port and waits for its ready line. */
export async function startService(
  databaseUrl: string,
  { flags = [], ...surroundings }: { flags?: readonly string[] } & Surroundings = {},
): Promise<Service> {
  const place = ['--host', '127.0.0.1', '--port', '0', '--database', databaseUrl]
  return startServer(['serve', ...place, ...flags], surroundings)
}

/** Starts a server by its whole command line and waits for its ready line. */
export async function startServer(argv: readonly string[], surroundings: Surroundings = {}): Promise<Service> {
  const child = spawn(commandLine(argv, surroundings), {
    ...surroundingsOf(surroundings),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const errors = collect(child.stderr)
  const output = collect(child.stdout)
  while (!READY_LINE.test(output.text())) {
    if ((await output.next()) === 'end') {
      await errors.whole
      throw new Error(`the service did not start: ${errors.text()}`)
    }
  }
  const stop = async (signal: StopSignal | 'SIGKILL' = 'SIGTERM') => {
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

export interface Run {
  readonly status: number | null
  readonly output: string
  readonly errors: string
}

/** Runs the program to its end, with `input` piped into it. */
export async function run(
  argv: readonly string[],
  { input, ...surroundings }: Surroundings & { readonly input?: string } = {},
): Promise<Run> {
  const child = spawn(commandLine(argv, surroundings), {
    ...surroundingsOf(surroundings),
    stdin: input === undefined ? 'ignore' : new Blob([input]),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()])
  await child.exited
  return { status: child.exitCode, output, errors }
}

export function commandLine(argv: readonly string[], { through = [], program = PROGRAM }: Surroundings): string[] {
  return [...through, ...program, ...argv]
}

/** Without the settings of the user who runs the tests. */
export function surroundingsOf({ environment, folder }: Surroundings) {
  return {
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? homedir(), ...ofPrograms, ...environment },
    ...(folder !== undefined && { cwd: folder }),
  }
}

/** Reads a stream as it arrives. */
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
