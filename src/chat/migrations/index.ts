import type { Migrations } from '../../database/migrations.ts'
// Imported as text, because the compiled program has no folder to scan.
import postgres from './postgres/0002_chat.sql' with { type: 'text' }
import sqlite from './sqlite/0002_chat.sql' with { type: 'text' }

export const chatMigrations: Migrations = {
  part: 'chat',
  sqlite: [{ name: '0002_chat', sql: sqlite }],
  postgres: [{ name: '0002_chat', sql: postgres }],
}
