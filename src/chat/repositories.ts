import type { StoreDatabase } from '../database/open.ts'
import type { PostgresDatabase } from '../database/postgres/database.ts'
import type { SqliteDatabase } from '../database/sqlite/database.ts'
import { postgresAnswers } from './answers/postgres.ts'
import type { AnswerRepository } from './answers/repository.ts'
import { sqliteAnswers } from './answers/sqlite.ts'
import { postgresPrompts } from './prompts/postgres.ts'
import type { PromptRepository } from './prompts/repository.ts'
import { sqlitePrompts } from './prompts/sqlite.ts'

/** Where prompts and answers are stored: all that an engine must do. */
export interface Repositories {
  readonly prompts: PromptRepository
  readonly answers: AnswerRepository
  /** Rejects with a `DatabaseUnavailableError` when the database does not answer. */
  readonly probe: () => Promise<void>
}

export function repositoriesOf(database: StoreDatabase): Repositories {
  return database.engine === 'sqlite' ? sqliteRepositories(database) : postgresRepositories(database)
}

function sqliteRepositories(database: SqliteDatabase): Repositories {
  const selectMigration = database.prepare<[], { name: string }>('SELECT name FROM migrations LIMIT 1')
  return {
    prompts: sqlitePrompts(database),
    answers: sqliteAnswers(database),
    probe: async () => {
      database.snapshot(() => selectMigration.get())
    },
  }
}

function postgresRepositories(database: PostgresDatabase): Repositories {
  return {
    prompts: postgresPrompts(database),
    answers: postgresAnswers(database),
    probe: async () => {
      await database.read('SELECT name FROM migrations LIMIT 1')
    },
  }
}
