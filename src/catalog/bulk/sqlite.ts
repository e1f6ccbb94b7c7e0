import { SqliteTables } from '../../database/sqlite/bulk.ts'
import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import { sqliteKeys } from '../storage/sqlite/keys.ts'
import { Load, type Loader } from './load.ts'

export function sqliteLoader(database: SqliteDatabase, isServing: boolean): Loader {
  return work =>
    database.bulk('loading', async transaction => {
      const load = new Load(new SqliteTables(transaction), {
        takesOnlyNewIds: isServing,
        mayDropIndexes: !isServing,
      })
      const result = await work(load, async (claim, answer) => sqliteKeys(transaction).keep(claim, answer, null))
      transaction.log(load.changes)
      return result
    })
}
