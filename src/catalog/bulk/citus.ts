import { MAY_IDLE } from '../../database/postgres/bulk.ts'
import { CitusTables } from '../../database/postgres/citus-bulk.ts'
import { NO_MOVES_WHILE_LOADING, ONE_CONNECTION_PER_WORKER, turns } from '../../database/postgres/citus-locks.ts'
import type { PostgresDatabase } from '../../database/postgres/database.ts'
import { addDerivedRowsOf } from '../storage/citus/loaded-rows.ts'
import { showIds } from '../storage/citus/shown-ids.ts'
import type { KeepAnswers } from '../storage/postgres/keys.ts'
import { Load, type Loader } from './load.ts'
import { LOG_LOADED, SERVING_LOCK_MS } from './postgres.ts'
import { BULK_RESOURCES } from './resources.ts'

const TABLES = BULK_RESOURCES.map(({ stored }) => stored.table).toSorted()

/**
 * Loads rows on Citus. Nothing else is created meanwhile, and no review is moved, so that an id is free on all shards if no row has
 * it. When it is committed, lists may show the rows.
 */
export function citusLoader(database: PostgresDatabase, isServing: boolean, keep: KeepAnswers): Loader {
  return {
    load: async work => {
      const { result, changes } = await database.bulk(async (query, connection) => {
        await query(MAY_IDLE)
        if (isServing) await query(`SET LOCAL lock_timeout = ${SERVING_LOCK_MS}`)
        await query(`SELECT ${ONE_CONNECTION_PER_WORKER}, ${turns(TABLES)}, ${NO_MOVES_WHILE_LOADING}`)
        const load = new Load(new CitusTables(query, connection), {
          takesOnlyNewIds: isServing,
          mayDropIndexes: false,
          keep: (claim, answer) => keep(query, [{ ...claim, answer, revision: null }]),
        })
        const result = await work(load)
        const { changes } = load
        await addDerivedRowsOf(query, changes)
        await query(LOG_LOADED, JSON.stringify(changes), changes.length)
        return { result, changes }
      })
      for (const { table, lastId } of changes) await showIds(database, table, lastId)
      return result
    },
  }
}
