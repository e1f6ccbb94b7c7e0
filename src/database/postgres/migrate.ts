import { OperatorError } from '../../program/operator-error.ts'
import { type Migration, type Migrations, refuseUnknown } from '../migrations.ts'
import { clusterOf } from './citus-cluster.ts'
import { isCreatedTwice } from './failure.ts'
import type { Pool, Query, RawConnection } from './pool.ts'

/** When many nodes start at once, a node may lose against each of the others. */
const TRIES = 100

/**
 * Recorded before the tables of a new database that shall be distributed are created: so a node that finds them knows that they
 * still have to be, even if the other one has died.
 */
const DISTRIBUTE = { name: 'distribute' }

/** Whether any migration was ever applied. */
export async function isMigrated(pool: Pool): Promise<boolean> {
  const [found] = await pool.query<{ exists: boolean }>("SELECT to_regclass('migrations') IS NOT NULL AS exists")
  return found?.exists === true
}

/**
 * Applies the missing migrations, each in its own transaction, which first inserts the migration's name. If several nodes
 * insert the same name at once, one goes ahead; the others wait for its commit and then skip the migration. This needs no
 * other lock. Those for Citus are applied to a new database that shall be distributed, and to one that is distributed already.
 * Resolves to whether it is.
 */
export async function migrate(
  pool: Pool,
  parts: readonly Migrations[],
  { place, shallDistribute }: { readonly place: string; readonly shallDistribute: boolean },
): Promise<boolean> {
  await retryConflicts(() =>
    pool.query('CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL)'),
  )
  const applied = new Set((await pool.query<{ name: string }>('SELECT name FROM migrations')).map(row => row.name))
  const migrations = parts.flatMap(({ postgres }) => postgres)
  const distributing = parts.flatMap(({ citus }) => citus)
  refuseUnknown(applied, parts, [...migrations, ...distributing], place)
  const concerned = parts.filter(({ citus }) => citus.length > 0)
  const isNew = !concerned.some(({ postgres }) => postgres.some(({ name }) => applied.has(name)))
  const isBeingDistributed = [DISTRIBUTE, ...distributing].some(({ name }) => applied.has(name))
  const isDistributed = distributing.length > 0 && (isBeingDistributed || (isNew && shallDistribute))
  if (shallDistribute && !isDistributed && distributing.length > 0) {
    throw new OperatorError(`${place} has data that is not distributed yet; run stockroom distribute`)
  }
  if (isNew && isDistributed) {
    const query: Query = (sql, ...of) => pool.query(sql, ...of)
    await clusterOf(query, place)
    await retryConflicts(() => record(query, DISTRIBUTE))
  }
  const missing = (of: readonly Migration[]) => of.filter(({ name }) => !applied.has(name))
  for (const migration of missing(migrations)) {
    await apply(pool, migration, (_, connection) => connection.runScript(migration.sql))
  }
  if (!isDistributed) return false
  for (const migration of missing(distributing)) {
    await apply(pool, migration, async query => {
      for (const command of commandsOf(migration)) await query(command)
    })
  }
  return true
}

/** Citus forwards the text of a command as it was sent, so each is sent alone. */
export function commandsOf({ sql }: Migration): string[] {
  const paragraphs = sql.split(/\n\n+/).map(paragraph => paragraph.replace(/^--.*\n?/gm, '').trim())
  return paragraphs.filter(command => command !== '')
}

async function apply(
  pool: Pool,
  migration: Migration,
  work: (query: Query, connection: RawConnection) => Promise<void>,
): Promise<void> {
  await retryConflicts(() =>
    pool.transaction(async (query, connection) => {
      if (await record(query, migration)) await work(query, connection)
    }),
  )
}

/** Records a migration before it is applied, in the same transaction. Resolves to whether it is new. */
export async function record(query: Query, { name }: Pick<Migration, 'name'>): Promise<boolean> {
  const inserted = await query(
    'INSERT INTO migrations (name, applied_at) VALUES ($1, now()) ON CONFLICT DO NOTHING RETURNING name',
    name,
  )
  return inserted.length > 0
}

async function retryConflicts(work: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await work()
      return
    } catch (error) {
      if (!isCreatedTwice(error) || tries === TRIES) throw error
    }
  }
}
