import type { Migrations } from '../../database/migrations.ts'
// Imported as text, because the compiled program has no folder to scan.
import postgres from './postgres/0003_talk.sql' with { type: 'text' }
import sqlite from './sqlite/0003_talk.sql' with { type: 'text' }

export const talkMigrations: Migrations = {
  part: 'talk',
  sqlite: [{ name: '0003_talk', sql: sqlite }],
  postgres: [{ name: '0003_talk', sql: postgres }],
}
