import type { StoreDatabase } from '../database/open.ts'
import { postgresAnswers } from './answers/postgres.ts'
import type { AnswerRepository } from './answers/repository.ts'
import { sqliteAnswers } from './answers/sqlite.ts'
import { postgresPrompts } from './prompts/postgres.ts'
import type { PromptRepository } from './prompts/repository.ts'
import { sqlitePrompts } from './prompts/sqlite.ts'

/** The storage of prompts and answers, for either engine. */
export interface Repositories {
  readonly prompts: PromptRepository
  readonly answers: AnswerRepository
  /** Rejects with a `DatabaseUnavailableError` unless the database takes reads and writes. */
  readonly probe: () => Promise<void>
}

export function repositoriesOf(database: StoreDatabase): Repositories {
  const probe = () => database.probe()
  return database.engine === 'sqlite'
    ? { prompts: sqlitePrompts(database), answers: sqliteAnswers(database), probe }
    : { prompts: postgresPrompts(database), answers: postgresAnswers(database), probe }
}
