import type { Command } from '../command.ts'
import {
  chatBaseUrl,
  chatModel,
  database,
  optionalAmount,
  optionalText,
  readCommandLine,
  terminalAbilities,
  toggle,
} from '../config.ts'
import { openSqlite } from '../database/sqlite.ts'
import { openChatModel } from '../models/open.ts'
import { SettingError } from '../operator-error.ts'
import { exportRoom, forgetRoom, printMessages } from './archive.ts'
import { enter } from './entrance.ts'
import { sqliteRepositories } from './repositories.ts'
import { talkIn } from './session.ts'
import { Terminal } from './terminal/terminal.ts'

const MESSAGES_PRINTED_MAX = 10_000

const exportFile = optionalText('export', 'FILE', "write your room's messages into a new file, as markdown")
const last = optionalAmount('last', MESSAGES_PRINTED_MAX, 'print your last N messages, answers included')
const search = optionalText('search', 'WORDS', 'print the messages that have all these words')
const json = toggle('json', 'print them as JSON, one message a line')
const forget = toggle('forget', 'delete all messages of your room, after asking')

export const talk: Command = {
  name: 'talk',
  operands: '',
  summary: 'Talk with a language model at the terminal, in a room of your own.',
  settings: [database, chatModel, chatBaseUrl, exportFile, last, search, json, forget],
  note: `The history is kept in the database, which --database names: the file data/stockroom.db in the folder where it is
started, unless told otherwise. Its owner alone can read it. With --export, --last, --search or --forget, it does
that with your room instead of talking.`,
  run: async argv => {
    const line = readCommandLine(argv, talk.settings)
    const wanted = {
      exportFile: line.value(exportFile),
      last: line.value(last),
      words: line.value(search),
      asJson: line.value(json),
      forget: line.value(forget),
    }
    const prints = wanted.last !== null || wanted.words !== null
    if ([wanted.exportFile !== null, prints, wanted.forget].filter(Boolean).length > 1) {
      throw new SettingError('--export, --forget and printing with --last or --search go one at a time')
    }
    if (wanted.asJson && !prints) throw new SettingError('--json goes with --last or --search')
    const { path } = line.value(database)
    const talks = wanted.exportFile === null && !prints && !wanted.forget
    const model = talks ? await openChatModel(line.value(chatModel), line.value(chatBaseUrl)) : null
    await using store = openSqlite(path)
    const { accounts, rooms } = sqliteRepositories(store)
    using terminal = new Terminal(
      { input: process.stdin, output: process.stdout, errors: process.stderr },
      terminalAbilities(),
    )
    using _ = leavingOnSignals(terminal)
    const room = await enter(terminal, accounts)
    if (room === null) return
    if (model) await talkIn({ room, rooms, model }, terminal)
    else if (wanted.forget) await forgetRoom(terminal, rooms, room)
    else if (wanted.exportFile === null) await printMessages(terminal, rooms, room, wanted, wanted.asJson)
    else terminal.say(`${wanted.exportFile} has all ${await exportRoom(rooms, room, wanted.exportFile)} messages.`)
  },
}

/** Ctrl-C where the input is no terminal, a terminal that is closed, and the end of the machine's day. */
function leavingOnSignals(terminal: Terminal): Disposable {
  const interrupt = () => terminal.interrupt()
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
