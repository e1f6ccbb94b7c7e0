import type { PostgresDatabase } from '../../database/postgres/database.ts'
import { LOCK_ALL, plainInsertion } from '../storage/postgres-creation.ts'
import { ANYTHING, type CatalogLoader } from './loader.ts'

/** Number of rows per statement. */
const BATCH_ROWS = 5_000

export function postgresLoader(database: PostgresDatabase): CatalogLoader {
  return {
    load: work =>
      database.bulk(async query => {
        // Ids must become visible in their order, so nothing else is created until the commit. A second seed waits here.
        await query(LOCK_ALL)
        if ((await query(ANYTHING)).length > 0) return false
        await work(async (resource, rows, inserted) => {
          const insert = plainInsertion(resource)
          const ids: number[] = []
          for (const batch of batches(rows)) {
            for (const { id } of await query<{ id: number }>(insert, JSON.stringify(batch))) ids.push(id)
            inserted(ids.length)
          }
          return ids
        })
        return true
      }),
  }
}

function* batches<Row>(rows: Iterable<Row>): Generator<Row[]> {
  let batch: Row[] = []
  for (const row of rows) {
    batch.push(row)
    if (batch.length < BATCH_ROWS) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
