import { setImmediate as turn } from 'node:timers/promises'
import { type CommandLine, terminalCapabilities } from '../config.ts'
import { type DatabaseSettings, openDatabase, readDatabaseSettings, type StoreDatabase } from '../database/open.ts'
import { openChatModel } from '../models/open.ts'
import { chatBaseUrl, chatModel } from '../models/settings.ts'
import { OperatorError, SettingError } from '../operator-error.ts'
import { exportRoom, forgetRoom, printMessages } from './archive.ts'
import { enter } from './entrance.ts'
import { talkMigrations } from './migrations/index.ts'
import { repositoriesOf } from './repositories.ts'
import type { RoomRepository } from './rooms/repository.ts'
import { talkIn } from './session.ts'
import { exportFile, forget, json, last, search } from './settings.ts'
import { Terminal } from './terminal/terminal.ts'

/** How long a person waits for a database that is not there: long enough for one that restarts. */
const DATABASE_WAIT_MS = 30_000

/** One Ctrl-C may arrive several times: from the terminal, and from npm and the launcher, who pass it on. */
const ONE_INTERRUPT_MS = 200

export async function talk(line: CommandLine): Promise<void> {
  const settings = readDatabaseSettings(line)
  const task = chosenTask(line)
  const model = task ? null : await openChatModel(line.value(chatModel), line.value(chatBaseUrl))
  await using database = await openDatabase(settings, [talkMigrations], DATABASE_WAIT_MS)
  await waitFor(database, settings)
  const { accounts, rooms } = repositoriesOf(database)
  using terminal = new Terminal(
    { input: process.stdin, output: process.stdout, errors: process.stderr },
    terminalCapabilities(),
  )
  using _ = leavingOnSignals(terminal)
  if (model) terminal.remark(`Stockroom talk, answered by ${model.name}. Log in, or register.`)
  const room = await enter(terminal, accounts)
  if (room !== null && model) await talkIn({ room, rooms, model }, terminal)
  else if (room !== null) await task?.(terminal, rooms, room)
  else if (task) throw new OperatorError('nobody has logged in')
}

/** Resolves when the database can be used, and says on standard error that it waits. Rejects when it waited too long. */
async function waitFor(database: StoreDatabase, { address }: DatabaseSettings): Promise<void> {
  const isReady = await Promise.race([database.ready.then(() => true), turn(false)])
  if (isReady || address.engine === 'sqlite') return
  process.stderr.write(
    `Waiting for the database ${address.place}, for up to ${DATABASE_WAIT_MS / 1_000} s; Ctrl-C leaves.\n`,
  )
  await database.ready
}

/** What is done with a room beside talking in it. */
type Task = (terminal: Terminal, rooms: RoomRepository, room: string) => Promise<void>

/** The one that the flags name; `null` when they name none. */
function chosenTask(line: CommandLine): Task | null {
  const path = line.value(exportFile)
  const selection = { last: line.value(last), words: line.value(search) }
  const asJson = line.value(json)
  const tasks: Task[] = []
  if (path !== null) tasks.push((terminal, rooms, room) => exportRoom(terminal, rooms, room, path))
  if (line.value(forget)) tasks.push(forgetRoom)
  if (selection.last !== null || selection.words !== null) {
    tasks.push((terminal, rooms, room) => printMessages(terminal, rooms, room, selection, asJson))
  } else if (asJson) {
    throw new SettingError('--json goes with --last or --search')
  }
  if (tasks.length > 1) {
    throw new SettingError('--export, --forget, and printing with --last or --search, go one at a time')
  }
  return tasks[0] ?? null
}

/** Ctrl-C where the input is no terminal, a terminal that is closed, and the end of the machine's day. */
function leavingOnSignals(terminal: Terminal): Disposable {
  let interruptedAt = Number.NEGATIVE_INFINITY
  const interrupt = () => {
    if (performance.now() - interruptedAt < ONE_INTERRUPT_MS) return
    interruptedAt = performance.now()
    terminal.interrupt()
  }
  const leave = () => terminal.leave()
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', leave)
  process.on('SIGHUP', leave)
  return {
    [Symbol.dispose]: () => {
      process.off('SIGINT', interrupt)
      process.off('SIGTERM', leave)
      process.off('SIGHUP', leave)
    },
  }
}
