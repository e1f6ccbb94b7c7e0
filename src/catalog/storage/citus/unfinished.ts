import { getLogger } from '@logtape/logtape'
import { freeTurn } from '../../../database/postgres/citus-locks.ts'
import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import { regularly } from '../../../database/regularly.ts'
import type { TableName } from '../resource.ts'
import { lastDrawn, showDrawn } from './shown-ids.ts'

const log = getLogger(['stockroom', 'database'])

const PERIOD_MS = 1_000

/** Those whose rows are on several shards. */
const TABLES: readonly TableName[] = ['products', 'reviews']

const BEHIND = TABLES.map(
  table => `SELECT collection FROM shown_ids WHERE collection = '${table}' AND last_id < ${lastDrawn(table)}`,
).join(' UNION ALL ')

/**
 * Shows the rows of nodes that died after they had created them, but before they could update `shown_ids`. Nobody creates rows
 * while this process has the turn, so all rows with drawn ids are committed, or were never stored.
 */
export function showUnfinished(database: PostgresDatabase): AsyncDisposable {
  const show = (table: TableName) =>
    database.transaction(async ask => {
      const [turn] = await ask<{ is_ours: boolean }>(`SELECT ${freeTurn(table)} AS is_ours`)
      if (turn?.is_ours) await ask(showDrawn(table))
    })
  const work = async () => {
    if (!database.isDistributed) return
    for (const { collection } of await database.readPrimary<{ collection: TableName }>(BEHIND)) await show(collection)
  }
  return regularly({ periodMs: PERIOD_MS, work, log })
}
