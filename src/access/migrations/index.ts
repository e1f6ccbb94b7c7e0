import type { Migrations } from '../../database/migrations.ts'
// Imported as text, because the compiled program has no folder to read them from.
import postgres from './postgres/0011_access.sql' with { type: 'text' }
import sqlite from './sqlite/0011_access.sql' with { type: 'text' }

export const accessMigrations: Migrations = {
  part: 'access',
  sqlite: [{ name: '0011_access', sql: sqlite }],
  postgres: [{ name: '0011_access', sql: postgres }],
}
