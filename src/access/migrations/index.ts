import type { Migrations } from '../../database/migrations.ts'
// Imported as text, because the compiled program has no folder to read them from.
import postgres from './postgres/access_0001.sql' with { type: 'text' }
import sqlite from './sqlite/access_0001.sql' with { type: 'text' }

export const accessMigrations: Migrations = {
  part: 'access',
  sqlite: [{ name: 'access_0001', sql: sqlite }],
  postgres: [{ name: 'access_0001', sql: postgres }],
  citus: [],
}
