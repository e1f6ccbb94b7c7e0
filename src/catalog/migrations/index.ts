import type { Migrations } from '../../database/migrations.ts'
// Imported as text, because the compiled program has no folder to read them from.
import citus from './citus/catalog_citus_0001.sql' with { type: 'text' }
import postgres from './postgres/catalog_0001.sql' with { type: 'text' }
import postgresRatings from './postgres/catalog_0002_ratings.sql' with { type: 'text' }
import postgresSearch from './postgres/catalog_0003_search.sql' with { type: 'text' }
import postgresEvents from './postgres/catalog_0004_events.sql' with { type: 'text' }
import postgresOtherPrograms from './postgres/catalog_0005_other_programs.sql' with { type: 'text' }
import postgresOneLog from './postgres/catalog_0006_one_log.sql' with { type: 'text' }
import postgresFacets from './postgres/catalog_0007_facets.sql' with { type: 'text' }
import sqlite from './sqlite/catalog_0001.sql' with { type: 'text' }
import sqliteRatings from './sqlite/catalog_0002_ratings.sql' with { type: 'text' }
import sqliteSearch from './sqlite/catalog_0003_search.sql' with { type: 'text' }
import sqliteWordPages from './sqlite/catalog_0004_word_pages.sql' with { type: 'text' }
import sqliteTerms from './sqlite/catalog_0005_terms.sql' with { type: 'text' }
import sqliteMerges from './sqlite/catalog_0006_merges.sql' with { type: 'text' }

export const catalogMigrations: Migrations = {
  part: 'catalog',
  sqlite: [
    { name: 'catalog_0001', sql: sqlite },
    { name: 'catalog_0002_ratings', sql: sqliteRatings },
    { name: 'catalog_0003_search', sql: sqliteSearch },
    { name: 'catalog_0004_word_pages', sql: sqliteWordPages },
    { name: 'catalog_0005_terms', sql: sqliteTerms },
    { name: 'catalog_0006_merges', sql: sqliteMerges },
  ],
  postgres: [
    { name: 'catalog_0001', sql: postgres },
    { name: 'catalog_0002_ratings', sql: postgresRatings },
    { name: 'catalog_0003_search', sql: postgresSearch },
    // On SQLite, the log is part of every file: see `database/sqlite/migrations`.
    { name: 'catalog_0004_events', sql: postgresEvents },
    { name: 'catalog_0005_other_programs', sql: postgresOtherPrograms },
    { name: 'catalog_0006_one_log', sql: postgresOneLog },
    { name: 'catalog_0007_facets', sql: postgresFacets },
  ],
  citus: [{ name: 'catalog_citus_0001', sql: citus }],
}
