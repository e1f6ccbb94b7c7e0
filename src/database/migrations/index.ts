// Imported as text, because the compiled program has no folder to scan.
import postgresCatalog from './postgres/0001_catalog.sql' with { type: 'text' }
import postgresChat from './postgres/0002_chat.sql' with { type: 'text' }
import postgresTalk from './postgres/0003_talk.sql' with { type: 'text' }
import postgresCreationLocks from './postgres/0004_creation_locks.sql' with { type: 'text' }
import catalog from './sqlite/0001_catalog.sql' with { type: 'text' }
import chat from './sqlite/0002_chat.sql' with { type: 'text' }
import talk from './sqlite/0003_talk.sql' with { type: 'text' }

export interface Migration {
  readonly name: string
  readonly sql: string
}

/** In the order in which they are applied; only ever added to. */
export const sqliteMigrations: readonly Migration[] = [
  { name: '0001_catalog', sql: catalog },
  { name: '0002_chat', sql: chat },
  { name: '0003_talk', sql: talk },
]

export const postgresMigrations: readonly Migration[] = [
  { name: '0001_catalog', sql: postgresCatalog },
  { name: '0002_chat', sql: postgresChat },
  { name: '0003_talk', sql: postgresTalk },
  { name: '0004_creation_locks', sql: postgresCreationLocks },
]
