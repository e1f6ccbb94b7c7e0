import { setImmediate as turn } from 'node:timers/promises'
import type { Command } from '../command.ts'
import {
  type CommandLine,
  chatBaseUrl,
  chatModel,
  optionalAmount,
  optionalText,
  readCommandLine,
  terminalAbilities,
  toggle,
} from '../config.ts'
import {
  type DatabaseSettings,
  databaseSettings,
  openDatabase,
  readDatabaseSettings,
  type StoreDatabase,
} from '../database/open.ts'
import { openChatModel } from '../models/open.ts'
import { CREDENTIALS_NOTE } from '../models/providers.ts'
import { OperatorError, SettingError } from '../operator-error.ts'
import { exportRoom, forgetRoom, printMessages } from './archive.ts'
import { enter } from './entrance.ts'
import { repositoriesOf } from './repositories.ts'
import type { RoomRepository } from './rooms/repository.ts'
import { talkIn } from './session.ts'
import { Terminal } from './terminal/terminal.ts'

const MESSAGES_PRINTED_MAX = 10_000

/** How long a person waits for a database that is not there: long enough for one that restarts. */
const DATABASE_WAIT_MS = 30_000

/** One Ctrl-C may arrive several times: from the terminal, and from npm and the launcher, who pass it on. */
const ONE_INTERRUPT_MS = 200

const exportFile = optionalText('export', 'FILE', "write your room's messages into a new file, as markdown")
const last = optionalAmount('last', MESSAGES_PRINTED_MAX, 'print your last N messages, answers included')
const search = optionalText('search', 'WORDS', 'print the messages that have all these words')
const json = toggle('json', 'print them as JSON, one message a line')
const forget = toggle('forget', 'delete all messages of your room, after asking')

export const talk: Command = {
  name: 'talk',
  operands: '',
  summary: 'Talk with a language model at the terminal, in a room of your own.',
  settings: [...databaseSettings, chatModel, chatBaseUrl, exportFile, last, search, json, forget],
  note: `With --export, --last, --search or --forget, it does that with your room instead of talking.

The history is kept in the database: unless --database names another one, that is the file data/stockroom.db in the
folder where it is started. Such a file is readable by its owner alone.

${CREDENTIALS_NOTE}`,
  run: async argv => {
    const line = readCommandLine(argv, talk.settings)
    const settings = readDatabaseSettings(line)
    const task = chosenTask(line)
    const model = task ? null : await openChatModel(line.value(chatModel), line.value(chatBaseUrl))
    await using database = await openDatabase(settings, DATABASE_WAIT_MS)
    await waitFor(database, settings)
    const { accounts, rooms } = repositoriesOf(database)
    using terminal = new Terminal(
      { input: process.stdin, output: process.stdout, errors: process.stderr },
      terminalAbilities(),
    )
    using _ = leavingOnSignals(terminal)
    if (model) terminal.remark(`Stockroom talk, answered by ${model.name}. Log in, or register.`)
    const room = await enter(terminal, accounts)
    if (room !== null && model) await talkIn({ room, rooms, model }, terminal)
    else if (room !== null) await task?.(terminal, rooms, room)
    else if (task) throw new OperatorError('nobody has logged in')
  },
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
