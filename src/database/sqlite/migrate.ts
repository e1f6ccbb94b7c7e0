import type { Database } from 'bun:sqlite'
import { OperatorError } from '../../operator-error.ts'
import { type Migrations, unknownMigration } from '../migrations.ts'
import { createChangeLog } from './change-log.ts'
import { APPLICATION_ID, applicationId } from './connection.ts'

/** Applies the missing migrations in one transaction, so that only one of several starting processes does the work. */
export function migrate(connection: Database, parts: readonly Migrations[], path: string): void {
  connection.run('BEGIN IMMEDIATE')
  // A start that changes nothing commits nothing, which would clear the caches of other processes.
  if (applicationId(connection) !== APPLICATION_ID) connection.run(`PRAGMA application_id = ${APPLICATION_ID}`)
  connection.run('CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL) STRICT')
  createChangeLog(connection)
  const applied = new Set(
    connection
      .query<{ name: string }, []>('SELECT name FROM migrations')
      .all()
      .map(row => row.name),
  )
  const migrations = parts.flatMap(({ sqlite }) => sqlite)
  const unknown = unknownMigration(parts, migrations, applied)
  if (unknown) {
    throw new OperatorError(`${path} was written by a newer version of stockroom (it has the migration ${unknown})`)
  }
  for (const migration of migrations.filter(candidate => !applied.has(candidate.name))) {
    connection.run(migration.sql)
    connection
      .query<null, [string, string]>('INSERT INTO migrations (name, applied_at) VALUES (?, ?)')
      .run(migration.name, new Date().toISOString())
  }
  connection.run('COMMIT')
}
