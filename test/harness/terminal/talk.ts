import { dirname } from 'node:path'
import { Terminal as Emulator } from '@xterm/headless'
import { spawn } from 'bun'
import { type Engine, sqlite } from '../engines.ts'
import { type ModelServer, startModelServer } from '../peers/model-server.ts'
import { openaiChat } from '../peers/openai-chat.ts'
import { commandLine, type Run, run, type Surroundings, surroundingsOf } from '../service.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { until } from '../until.ts'

export const CTRL_C = '\x03'
export const CTRL_D = '\x04'
export const ALT_ENTER = '\x1b\r'
export const UP = '\x1b[A'

/** A user of `stockroom talk` at an emulated terminal, so tests compare what a user would see. */
export interface Session extends AsyncDisposable {
  readonly type: (keys: string) => void
  /** Pastes as a terminal does: with paste markers if the program asked for them. */
  readonly paste: (text: string) => void
  readonly resize: (columns: number) => void
  /** All rows so far, including those that scrolled away, without trailing blanks. */
  readonly screen: () => string
  /** The received bytes, as text. */
  readonly received: () => string
  /** Waits until the screen contains the text or matches the pattern. */
  readonly shows: (expected: string | RegExp) => Promise<void>
  readonly processId: number
  /** The exit status; null if a signal killed it. */
  readonly ended: Promise<number | null>
  readonly kill: (signal: 'SIGKILL' | 'SIGHUP' | 'SIGTERM') => Promise<void>
}

interface Size {
  readonly columns?: number
  readonly rows?: number
}

/** Starts `stockroom` with its own terminal. */
export function startAtTerminal(
  argv: readonly string[],
  { columns = 80, rows = 60, ...surroundings }: Surroundings & Size = {},
): Session {
  // When its width changes, it wraps its lines again, as most terminals do, even the line of the cursor.
  const emulator = new Emulator({
    cols: columns,
    rows,
    scrollback: 10_000,
    allowProposedApi: true,
    reflowCursorLine: true,
  })
  const decoder = new TextDecoder()
  const closed = Promise.withResolvers<void>()
  let received = ''
  let changes = 0
  emulator.onWriteParsed(() => {
    changes += 1
  })
  const child = spawn(commandLine(argv, surroundings), {
    ...surroundingsOf(surroundings),
    terminal: {
      cols: columns,
      rows,
      name: 'xterm-256color',
      data: (_, bytes) => {
        received += decoder.decode(bytes, { stream: true })
        // A copy, because the runtime reuses the buffer.
        emulator.write(bytes.slice())
      },
      exit: () => closed.resolve(),
    },
  })
  const { terminal } = child
  if (!terminal) throw new Error('there is no terminal')
  const whole = async () => {
    await child.exited
    await closed.promise
    await new Promise<void>(resolve => emulator.write('', resolve))
    return child.exitCode
  }
  const ended = whole()
  const screen = () => screenOf(emulator)
  const kill = async (signal: 'SIGKILL' | 'SIGHUP' | 'SIGTERM') => {
    child.kill(signal)
    await ended
  }
  return {
    type: keys => {
      terminal.write(keys)
    },
    paste: text => {
      const { bracketedPasteMode } = emulator.modes
      const pasted = text.replaceAll('\n', '\r')
      terminal.write(bracketedPasteMode ? `\x1b[200~${pasted}\x1b[201~` : pasted)
    },
    resize: newColumns => {
      emulator.resize(newColumns, rows)
      changes += 1
      terminal.resize(newColumns, rows)
    },
    screen,
    received: () => received,
    shows: async expected => {
      let isOver = false
      void ended.then(() => {
        isOver = true
      })
      let seen = -1
      await until(() => {
        if (changes === seen && !isOver) return false
        seen = changes
        const shown = screen()
        if (typeof expected === 'string' ? shown.includes(expected) : expected.test(shown)) return true
        if (isOver) throw new Error(`it has ended without showing ${expected}:\n${shown}`)
        return false
      })
    },
    processId: child.pid,
    ended,
    kill,
    [Symbol.asyncDispose]: async () => {
      await kill('SIGKILL')
      terminal.close()
      emulator.dispose()
    },
  }
}

/** Runs the program at a terminal until it ends; returns the terminal's output. */
export async function runAtTerminal(
  argv: readonly string[],
  surroundings: Surroundings = {},
): Promise<{ readonly status: number | null; readonly screen: string }> {
  await using session = startAtTerminal(argv, surroundings)
  return { status: await session.ended, screen: session.received() }
}

function screenOf({ buffer }: Emulator): string {
  const { active } = buffer
  const rows = Array.from(
    { length: active.length },
    (_, row) => active.getLine(row)?.translateToString().trimEnd() ?? '',
  )
  return rows.join('\n').trimEnd()
}

/** A database, a model server that the test controls, and `stockroom talk` with them. */
export interface TalkPlace extends AsyncDisposable {
  readonly folder: string
  readonly databaseUrl: string
  /** Of SQLite. */
  readonly databasePath: string
  readonly model: ModelServer
  /** At a terminal. */
  readonly sit: (options?: Surroundings & Size & { readonly flags?: readonly string[] }) => Session
  /** The same, after registering or logging in with the password `sesame`, at the first prompt. */
  readonly enter: (user: string, options?: Surroundings & Size) => Promise<Session>
  /** Runs with pipes, with these lines as the whole input. */
  readonly pipe: (lines: readonly string[], flags?: readonly string[], surroundings?: Surroundings) => Promise<Run>
  /** The texts of the user's messages, or of those that these flags select. */
  readonly texts: (user: string, flags?: readonly string[]) => Promise<string[]>
}

export const PASSWORD = 'sesame'

export async function talkPlace({ freshDatabase }: Engine = sqlite): Promise<TalkPlace> {
  await using opened = new AsyncDisposableStack()
  const { url } = opened.use(await freshDatabase())
  return talkPlaceOn(url, opened.move())
}

/** The same on an existing database; everything in `open` is closed with it. */
export async function talkPlaceOn(
  databaseUrl: string,
  open: AsyncDisposableStack = new AsyncDisposableStack(),
): Promise<TalkPlace> {
  const databasePath = databaseUrl.slice('sqlite:'.length)
  const folder = databaseUrl.startsWith('sqlite:') ? dirname(databasePath) : open.use(temporaryFolder()).path
  const model = open.use(await startModelServer(openaiChat))
  const argv = (flags: readonly string[]) => ['talk', '--database', databaseUrl, ...flags]
  const users = new Set<string>()
  const place: TalkPlace = {
    folder,
    databaseUrl,
    databasePath,
    model,
    sit: ({ flags = [], environment, ...options } = {}) =>
      open.use(startAtTerminal(argv(flags), { ...options, environment: { ...model.environment, ...environment } })),
    enter: async (user, options) => {
      const session = place.sit(options)
      await session.shows('[L]og in')
      session.type(`${users.has(user) ? 'L' : 'R'}\r${user}\r${PASSWORD}\r`)
      users.add(user)
      await session.shows(new RegExp(`^${user}>$(?![\\s\\S]*\\n)`, 'm'))
      return session
    },
    pipe: (lines, flags = [], { environment, ...surroundings } = {}) =>
      run(argv(flags), {
        ...surroundings,
        environment: { ...model.environment, ...environment },
        input: lines.map(line => `${line}\n`).join(''),
      }),
    texts: async (user, flags = ['--last', '10000']) => {
      const { output } = await place.pipe(logIn(user), [...flags, '--json'])
      const lines = output.split('\n').filter(line => line !== '')
      return lines.map(line => JSON.parse(line).text)
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
  return place
}

/** The input lines that register a user or log one in. */
export const register = (user: string) => ['R', user, PASSWORD]
export const logIn = (user: string) => ['L', user, PASSWORD]
