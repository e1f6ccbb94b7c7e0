import type { Command } from '../command.ts'
import { chatBaseUrl, chatModel, host, logLevel, port, readCommandLine } from '../config.ts'
import { databaseSettings, openDatabase, readDatabaseSettings, START_WAIT_MS } from '../database/open.ts'
import { openMarkdown } from '../markdown/renderer.ts'
import { openChatModel } from '../models/open.ts'
import { CREDENTIALS_NOTE } from '../models/providers.ts'
import { listen, stopSignal } from '../server/listen.ts'
import { startLog } from '../server/log.ts'
import { readServerSettings, serverSettings } from '../server/settings.ts'
import { Answers } from './answers/answers.ts'
import { createChat } from './app.ts'
import { startHousekeeping } from './housekeeping.ts'
import { loggedPath } from './logged-path.ts'
import { repositoriesOf } from './repositories.ts'
import { boundSettings, readAnswerLimits } from './settings.ts'

/** How long answers may go on after a signal; what is left is kept as interrupted, while connections drain. */
const ANSWERS_GRACE_MS = 2_500

const chatPort = port(6543)

export const chat: Command = {
  name: 'chat',
  operands: '',
  summary: 'Serve the chat page, and the answers of a language model as they come.',
  settings: [host, chatPort, ...databaseSettings, chatModel, chatBaseUrl, ...boundSettings, ...serverSettings],
  note: CREDENTIALS_NOTE,
  run: async argv => {
    const line = readCommandLine(argv, chat.settings)
    // All of them first: a wrong setting stops the program before it has touched anything.
    const settings = {
      level: line.value(logLevel),
      database: readDatabaseSettings(line),
      server: readServerSettings(line, chatPort),
      limits: readAnswerLimits(line),
    }
    const model = await openChatModel(line.value(chatModel), line.value(chatBaseUrl))
    startLog(settings.level)
    const stopped = stopSignal()
    await using database = await openDatabase(settings.database, START_WAIT_MS)
    const repositories = repositoriesOf(database)
    const markdown = await openMarkdown({ lineBreak: '&#10;' })
    await using answers = new Answers({ ...repositories, model, markdown, limits: settings.limits })
    using _ = startHousekeeping(repositories)
    const app = createChat({ repositories, answers })
    await using server = listen({ app: { fetch: app.fetch, routes: app.routes, loggedPath }, ...settings.server })
    process.stdout.write(`stockroom serves the chat page at ${server.address}, answered by ${model.name}\n`)
    await markdown.warmUp()
    await Promise.race([database.ready, stopped])
    await stopped
    // Beside the server, which stops accepting and waits for its streams meanwhile.
    void answers.close(ANSWERS_GRACE_MS)
  },
}
