import type { Change } from './change.ts'
import type { StoreDatabase } from './open.ts'
import { beginReading, lockTables, MAY_IDLE, PostgresTables } from './postgres/bulk.ts'
import { LOG_CHANGES } from './postgres/changes.ts'
import { beginFillingShards, CitusTables, takeSnapshots } from './postgres/citus-bulk.ts'
import { reasonOfRefusedRow as refusedByPostgres } from './postgres/failure.ts'
import { SqliteTables } from './sqlite/bulk.ts'
import { reasonOfRefusedRow as refusedBySqlite } from './sqlite/failure.ts'
import type { Table, TableReader, TableWriter } from './table.ts'

/** Reads whole tables as they are at one moment. */
export async function readTables<Result>(
  database: StoreDatabase,
  work: (reader: TableReader) => Promise<Result>,
): Promise<Result> {
  if (database.engine === 'sqlite') {
    return database.bulkRead(transaction => work(new SqliteTables(transaction)))
  }
  const { promise: read, resolve, reject } = Promise.withResolvers<Result>()
  const ended = database.bulk(async (query, connection) => {
    await beginReading(query)
    if (database.isDistributed) await takeSnapshots(database, query)
    resolve(await work(new (database.isDistributed ? CitusTables : PostgresTables)(query, connection)))
  })
  // The commit fails if `work` stopped amid the rows of a table. Its result is good all the same.
  await ended.catch(reject)
  return read
}

/** Logs all changes of the transaction that services and their followers shall know of. */
export type LogChanges = (changes: readonly Change[]) => Promise<void>

/**
 * Fills whole tables, which nobody else can use until `work` ends. All is stored if `work` resolves, and nothing if it rejects
 * or the process dies.
 */
export function fillTables<Result>(
  database: StoreDatabase,
  tables: readonly Table[],
  work: (writer: TableWriter, log: LogChanges) => Promise<Result>,
): Promise<Result> {
  if (database.engine === 'sqlite') {
    return database.bulk('writing', transaction =>
      work(new SqliteTables(transaction), async changes => transaction.log(changes)),
    )
  }
  return database.bulk(async (query, connection) => {
    if (database.isDistributed) await beginFillingShards(query)
    await lockTables(query, tables)
    await query(MAY_IDLE)
    const writer = database.isDistributed ? new CitusTables(query, connection) : new PostgresTables(query, connection)
    return work(writer, async changes => {
      await query(LOG_CHANGES, JSON.stringify(changes), changes.length)
    })
  })
}

/** Says why the database refused a row because of what is in it; `null` for all other errors. */
export function reasonOfRefusedRow(error: unknown): string | null {
  return refusedBySqlite(error) ?? refusedByPostgres(error)
}
