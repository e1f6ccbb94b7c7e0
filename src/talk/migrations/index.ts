import type { Migrations } from '../../database/migrations.ts'
// Imported as text, because the compiled program has no folder to read them from.
import postgres from './postgres/talk_0001.sql' with { type: 'text' }
import sqlite from './sqlite/talk_0001.sql' with { type: 'text' }

export const talkMigrations: Migrations = {
  part: 'talk',
  sqlite: [{ name: 'talk_0001', sql: sqlite }],
  postgres: [{ name: 'talk_0001', sql: postgres }],
  citus: [],
}
