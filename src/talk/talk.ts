import { setImmediate as turn } from 'node:timers/promises'
import { type DatabaseSettings, openDatabase, readDatabaseSettings, type StoreDatabase } from '../database/open.ts'
import { atMostEvery } from '../limits/at-most-every.ts'
import { openChatModel } from '../models/open.ts'
import { chatBaseUrl, chatModel } from '../models/settings.ts'
import { type CommandLine, terminalCapabilities } from '../program/config.ts'
import { OperatorError, SettingError } from '../program/operator-error.ts'
import { printError } from '../program/output.ts'
import { emptyRoom, exportRoom, printMessages } from './archive.ts'
import { addListeners } from './listeners.ts'
import { logInOrRegister } from './login.ts'
import { talkMigrations } from './migrations/index.ts'
import { roomsOf } from './rooms/open.ts'
import type { RoomRepository } from './rooms/repository.ts'
import { runSession } from './session.ts'
import { exportFile, forget, json, last, search } from './settings.ts'
import { Terminal } from './terminal/terminal.ts'

/** Time limit for connecting to the database: long enough for one that is restarting. */
const DATABASE_WAIT_MS = 30_000

/** One Ctrl-C may arrive several times: from the terminal, and from npm and the launcher, which forward it. */
const INTERRUPT_DEBOUNCE_MS = 200

const NOBODY = 'nobody has logged in'

/** Time to store what there is of an answer. Then the program ends even if its reader does not take the rest. */
const LEAVE_MAX_MS = 4_800

export async function talkAtTerminal(line: CommandLine): Promise<void> {
  const settings = readDatabaseSettings(line)
  const task = chosenTask(line)
  const model = task ? null : await openChatModel(line.value(chatModel), line.value(chatBaseUrl))
  await using database = await openDatabase(settings, [talkMigrations], { waitMs: DATABASE_WAIT_MS })
  if (!(await waitForDatabase(database, settings))) {
    if (task) throw new OperatorError(NOBODY)
    return
  }
  const rooms = roomsOf(database)
  using terminal = new Terminal(process, terminalCapabilities())
  using _ = leaveOnSignals(terminal)
  if (model) terminal.note(`Stockroom talk, answered by ${model.name}. Log in, or register.`)
  const room = await logInOrRegister(terminal, rooms)
  if (room !== null && model) await runSession({ room, rooms, model }, terminal)
  else if (room !== null) await task?.(terminal, rooms, room)
  else if (task) throw new OperatorError(NOBODY)
}

/** Waits until the database can be used, and says so on standard error. Resolves to false if the user leaves; rejects after the time limit. */
async function waitForDatabase(database: StoreDatabase, { address }: DatabaseSettings): Promise<boolean> {
  const ready = database.ready.then(() => true)
  const isReady = await Promise.race([ready, turn(false)])
  if (isReady || address.engine === 'sqlite') return true
  const left = Promise.withResolvers<false>()
  const leave = () => left.resolve(false)
  // They stay, because one Ctrl-C may arrive again while the database is closed.
  addListeners(process, { SIGINT: leave, SIGTERM: leave, SIGHUP: leave })
  printError(`Waiting for the database ${address.place}, for up to ${DATABASE_WAIT_MS / 1_000} s; Ctrl-C leaves.\n`)
  return Promise.race([ready, left.promise])
}

/** Something to do with a room instead of talking. */
type Task = (terminal: Terminal, rooms: RoomRepository, room: string) => Promise<void>

/** The task that the flags ask for; `null` if there is none. */
function chosenTask(line: CommandLine): Task | null {
  const path = line.value(exportFile)
  const selection = { last: line.value(last), words: line.value(search) }
  const asJson = line.value(json)
  const tasks: Task[] = []
  if (path !== null) tasks.push((terminal, rooms, room) => exportRoom(terminal, rooms, room, path))
  if (line.value(forget)) tasks.push(emptyRoom)
  if (selection.last !== null || selection.words !== null) {
    tasks.push((terminal, rooms, room) => printMessages(terminal, rooms, room, selection, asJson))
  } else if (asJson) {
    throw new SettingError('--json requires --last or --search')
  }
  if (tasks.length > 1) {
    throw new SettingError('use --export, --forget, and --last or --search one at a time')
  }
  return tasks[0] ?? null
}

/** Handles Ctrl-C if the input is not a terminal, a closed terminal, and a shutdown of the machine. */
function leaveOnSignals(terminal: Terminal): Disposable {
  const isNew = atMostEvery(INTERRUPT_DEBOUNCE_MS)
  const interrupt = () => {
    if (isNew()) terminal.interrupt()
  }
  const leave = () => {
    setTimeout(() => process.exit(0), LEAVE_MAX_MS).unref()
    terminal.leave()
  }
  return addListeners(process, { SIGINT: interrupt, SIGTERM: leave, SIGHUP: leave })
}
