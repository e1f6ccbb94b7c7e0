import type { Migrations } from '../../database/migrations.ts'
// Imported as text, because the compiled program has no folder to read them from.
import postgres from './postgres/catalog_0001.sql' with { type: 'text' }
import postgresEvents from './postgres/catalog_0002_events.sql' with { type: 'text' }
import sqlite from './sqlite/catalog_0001.sql' with { type: 'text' }

export const catalogMigrations: Migrations = {
  part: 'catalog',
  sqlite: [{ name: 'catalog_0001', sql: sqlite }],
  postgres: [
    { name: 'catalog_0001', sql: postgres },
    // On SQLite, the log is part of every file: see `database/sqlite/change-log.ts`.
    { name: 'catalog_0002_events', sql: postgresEvents },
  ],
}
