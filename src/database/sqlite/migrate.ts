import { Database } from 'bun:sqlite'
import { OperatorError } from '../../program/operator-error.ts'
import { type Migration, type Migrations, refuseUnknown } from '../migrations.ts'
import { APPLICATION_ID, applicationId, atStart, encodingObstacle, failOnTakenLocks } from './connection.ts'
import { unusable } from './failure.ts'
import { fileMigrations } from './migrations/index.ts'
import { whenUnlocked } from './unlocked.ts'

/**
 * Applies the missing migrations in one transaction, so that only one of several starting processes does the work. If none is
 * missing, it takes no write lock, because the import of another process may hold it for minutes.
 */
export async function migrate(connection: Database, parts: readonly Migrations[], path: string): Promise<void> {
  if (isUpToDate(connection, parts, path)) return
  failOnTakenLocks(connection)
  await whenUnlocked(() => connection.run('BEGIN IMMEDIATE'), atStart(path))
  // A start that changes nothing commits nothing, which would clear the caches of other processes.
  if (applicationId(connection) !== APPLICATION_ID) connection.run(`PRAGMA application_id = ${APPLICATION_ID}`)
  connection.run('CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL) STRICT')
  completeChangeLog(connection)
  for (const { name, sql } of missingMigrations(connection, parts, path)) {
    connection.run(sql)
    connection
      .query<null, [string, string]>('INSERT INTO migrations (name, applied_at) VALUES (?, ?)')
      .run(name, new Date().toISOString())
  }
  connection.run('COMMIT')
}

/** Adds what followers need to a log from before there were any, because a migration can only create the whole table. */
function completeChangeLog(connection: Database): void {
  const columns = connection.query<{ name: string }, []>("SELECT name FROM pragma_table_info('change_log')").all()
  if (columns.length === 0 || columns.some(({ name }) => name === 'logged_at')) return
  for (const column of ['logged_at', 'tag', 'events']) {
    connection.run(`ALTER TABLE change_log ADD COLUMN ${column} INTEGER NOT NULL DEFAULT 0`)
  }
}

/** Throws an `OperatorError` about `name` if the file is damaged, or is no database that this version can use. */
export function mustBeUsable(path: string, parts: readonly Migrations[], name: string): void {
  try {
    using connection = new Database(path, { readwrite: true, strict: true })
    if (applicationId(connection) !== APPLICATION_ID) throw new OperatorError(`${name} is no database of stockroom`)
    const obstacle = encodingObstacle(connection)
    if (obstacle !== null) throw new OperatorError(`${name} ${obstacle}`)
    const found = connection.query<{ integrity_check: string }, []>('PRAGMA integrity_check(1)').get()?.integrity_check
    if (found !== 'ok') throw new OperatorError(`${name} is damaged: ${found?.replaceAll('\n', ' ')}`)
    missingMigrations(connection, parts, name)
  } catch (error) {
    throw unusable(error, name)
  }
}

function isUpToDate(connection: Database, parts: readonly Migrations[], path: string): boolean {
  const migrations = connection.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE name = 'migrations'")
  return (
    migrations.get() !== null &&
    applicationId(connection) === APPLICATION_ID &&
    missingMigrations(connection, parts, path).length === 0
  )
}

function missingMigrations(connection: Database, parts: readonly Migrations[], path: string): Migration[] {
  const rows = connection.query<{ name: string }, []>('SELECT name FROM migrations').all()
  const applied = new Set(rows.map(({ name }) => name))
  const all = [fileMigrations, ...parts]
  const migrations = all.flatMap(({ sqlite }) => sqlite)
  refuseUnknown(applied, all, migrations, path)
  return migrations.filter(({ name }) => !applied.has(name))
}
