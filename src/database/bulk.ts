import type { StoreDatabase } from './open.ts'
import { fillPostgres, readPostgres } from './postgres/bulk.ts'
import { fillCitus, readCitus } from './postgres/citus-bulk.ts'
import { fillSqlite, readSqlite } from './sqlite/bulk.ts'
import type { Table, TableReader, TableWriter } from './table.ts'

/** Reads whole tables as they are at one moment. */
export function readTables<Result>(
  database: StoreDatabase,
  work: (reader: TableReader) => Promise<Result>,
): Promise<Result> {
  if (database.engine === 'sqlite') return readSqlite(database, work)
  return database.isDistributed ? readCitus(database, work) : readPostgres(database, work)
}

/**
 * Fills whole tables, which nobody else can use until `work` ends. All is stored if `work` resolves, and nothing if it rejects
 * or the process dies.
 */
export function fillTables<Result>(
  database: StoreDatabase,
  tables: readonly Table[],
  work: (writer: TableWriter) => Promise<Result>,
): Promise<Result> {
  if (database.engine === 'sqlite') return fillSqlite(database, work)
  return database.isDistributed ? fillCitus(database, tables, work) : fillPostgres(database, tables, work)
}
