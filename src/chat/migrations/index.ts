import type { Migrations } from '../../database/migrations.ts'
// Imported as text, because the compiled program has no folder to read them from.
import postgres from './postgres/chat_0001.sql' with { type: 'text' }
import sqlite from './sqlite/chat_0001.sql' with { type: 'text' }

export const chatMigrations: Migrations = {
  part: 'chat',
  sqlite: [{ name: 'chat_0001', sql: sqlite }],
  postgres: [{ name: 'chat_0001', sql: postgres }],
  citus: [],
}
