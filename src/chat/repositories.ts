import type { StoreDatabase } from '../database/open.ts'
import { postgresAnswers } from './answers/postgres.ts'
import { sqliteAnswers } from './answers/sqlite.ts'
import { postgresSecret } from './login/postgres.ts'
import { sqliteSecret } from './login/sqlite.ts'
import { postgresPrompts } from './prompts/postgres.ts'
import { sqlitePrompts } from './prompts/sqlite.ts'
import { postgresSpending } from './spending/postgres.ts'
import { sqliteSpending } from './spending/sqlite.ts'

/** The storage of the chat, for either engine. */
export function repositoriesOf(database: StoreDatabase) {
  return database.engine === 'sqlite'
    ? {
        prompts: sqlitePrompts(database),
        answers: sqliteAnswers(database),
        spending: sqliteSpending(database),
        secret: sqliteSecret(database),
      }
    : {
        prompts: postgresPrompts(database),
        answers: postgresAnswers(database),
        spending: postgresSpending(database),
        secret: postgresSecret(database),
      }
}
