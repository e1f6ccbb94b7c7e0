import type { Migrations } from '../../database/migrations.ts'
// Imported as text, because the compiled program has no folder to read them from.
import postgres from './postgres/0001_catalog.sql' with { type: 'text' }
import postgresCreationLocks from './postgres/0004_catalog_creation_locks.sql' with { type: 'text' }
import postgresImports from './postgres/0009_catalog_imports.sql' with { type: 'text' }
import postgresChangeLog from './postgres/0010_catalog_change_log.sql' with { type: 'text' }
import postgresIdempotency from './postgres/0012_catalog_idempotency.sql' with { type: 'text' }
import postgresRevisions from './postgres/0013_catalog_revisions.sql' with { type: 'text' }
import sqlite from './sqlite/0001_catalog.sql' with { type: 'text' }
import sqliteGrowth from './sqlite/0008_catalog_growth.sql' with { type: 'text' }
import sqliteImports from './sqlite/0009_catalog_imports.sql' with { type: 'text' }
import sqliteIdempotency from './sqlite/0012_catalog_idempotency.sql' with { type: 'text' }
import sqliteRevisions from './sqlite/0013_catalog_revisions.sql' with { type: 'text' }
import sqliteReviewIndexes from './sqlite/0014_catalog_review_indexes.sql' with { type: 'text' }

export const catalogMigrations: Migrations = {
  part: 'catalog',
  sqlite: [
    { name: '0001_catalog', sql: sqlite },
    { name: '0008_catalog_growth', sql: sqliteGrowth },
    { name: '0009_catalog_imports', sql: sqliteImports },
    { name: '0012_catalog_idempotency', sql: sqliteIdempotency },
    { name: '0013_catalog_revisions', sql: sqliteRevisions },
    { name: '0014_catalog_review_indexes', sql: sqliteReviewIndexes },
  ],
  postgres: [
    { name: '0001_catalog', sql: postgres },
    { name: '0004_catalog_creation_locks', sql: postgresCreationLocks },
    { name: '0009_catalog_imports', sql: postgresImports },
    { name: '0010_catalog_change_log', sql: postgresChangeLog },
    { name: '0012_catalog_idempotency', sql: postgresIdempotency },
    { name: '0013_catalog_revisions', sql: postgresRevisions },
  ],
}
