import { OperatorError } from '../../program/operator-error.ts'
import { type Migration, type Migrations, refuseUnknown } from '../migrations.ts'
import { tellOfWait } from '../waiting.ts'
import { clusterOf } from './citus-cluster.ts'
import { isLockTimeout } from './failure.ts'
import type { Pool, Query, RawConnection } from './pool.ts'

const createTable = (name: string) =>
  `CREATE TABLE IF NOT EXISTS ${name} (name text PRIMARY KEY, applied_at timestamptz NOT NULL)`

/** Until the end of the transaction, new tables go into the schema of the others. */
export const BESIDE_OTHERS = `
  SELECT set_config('search_path', concat_ws(', ', relnamespace::regnamespace, current_setting('search_path')), true)
  FROM pg_class WHERE oid = 'migrations'::regclass`

/** For one node at a time. The number is arbitrary. */
const LOCK_NUMBER = 4_718_392
const LOCK = `SELECT pg_advisory_xact_lock(${LOCK_NUMBER})`
/** Time for which a wait for the lock goes unmentioned. */
const SILENT_MS = 2_000

/** Time for which a migration waits for a table. Other statements on it queue behind that, and nodes that serve it refuse them after 1 s. */
const TABLE_LOCK_MS = 500
/** Pause before it tries again, in which what has queued is done. */
const PAUSE_MS = 1_500

type Work = (query: Query, connection: RawConnection) => Promise<unknown>

/**
 * Recorded before the tables of a new database that shall be distributed are created: so a node that finds them knows that they
 * still have to be, even if the other one has died.
 */
const DISTRIBUTE = { name: 'distribute' }

/** The schema of the tables, or `null` if there are none. Another schema may have another program's table called `migrations`. */
async function schemaOf(pool: Pool): Promise<string | null> {
  const [found] = await pool.query<{ schema: string }>(`
    SELECT relnamespace::regnamespace::text AS schema FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE pg_class.oid = to_regclass('migrations') AND attname = 'applied_at'`)
  return found?.schema ?? null
}

/**
 * Applies the missing migrations, each in a transaction of its own under a lock, so that of several nodes that start at once one
 * applies it and the others find it recorded. Those for Citus are applied to a new database that shall be distributed, and to one
 * that is distributed already. Resolves to whether it is. With `mustExist`, only a database that has tables already is migrated.
 */
export async function migrate(
  pool: Pool,
  parts: readonly Migrations[],
  { place, shallDistribute }: { readonly place: string; readonly shallDistribute: boolean },
  mustExist: boolean,
): Promise<boolean> {
  const schema = await schemaOf(pool)
  if (schema === null && mustExist) throw new OperatorError(`the database ${place} has no tables of stockroom`)
  // Without the lock if the table is there, because another node may migrate for long. Fails if the server takes no writes. With its
  // schema, because the search path may begin with a newer one by now, such as one with the name of the user.
  if (schema !== null) await pool.query(createTable(`${schema}.migrations`))
  else await alone(pool, place, query => query(createTable('migrations')))
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
    await alone(pool, place, async query => {
      await clusterOf(query, place)
      await record(query, DISTRIBUTE)
    })
  }
  const missing = (of: readonly Migration[]) => of.filter(({ name }) => !applied.has(name))
  for (const migration of missing(migrations)) {
    const script = `SET LOCAL lock_timeout = ${TABLE_LOCK_MS}; ${migration.sql}`
    await whenUnlocked(place, () => apply(pool, place, migration, (_, connection) => connection.runScript(script)))
  }
  if (!isDistributed) return false
  for (const migration of missing(distributing)) {
    await apply(pool, place, migration, async query => {
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

async function apply(pool: Pool, place: string, migration: Migration, work: Work): Promise<void> {
  await alone(pool, place, async (query, connection) => {
    if (!(await record(query, migration))) return
    await query(BESIDE_OTHERS)
    await work(query, connection)
  })
}

/** Tries again until no transaction of others, such as that of pg_dump, uses a table that the migration needs for itself. */
async function whenUnlocked(place: string, applied: () => Promise<void>): Promise<void> {
  for (let isTold = false; ; isTold = true) {
    try {
      return await applied()
    } catch (error) {
      if (!isLockTimeout(error)) throw error
    }
    const reason = `${place} cannot be migrated while a transaction uses the tables to change`
    if (!isTold) tellOfWait('{reason}; waiting for its end', { reason })
    await Bun.sleep(PAUSE_MS)
  }
}

async function alone(pool: Pool, place: string, work: Work): Promise<void> {
  await pool.transaction(async (query, connection) => {
    const reason = `${place} is being migrated by the session that holds the advisory lock ${LOCK_NUMBER}`
    const silence = setTimeout(tellOfWait, SILENT_MS, '{reason}; waiting for it', { reason })
    await query(LOCK).finally(() => clearTimeout(silence))
    await work(query, connection)
  })
}

/** Records a migration before it is applied, in the same transaction. Resolves to whether it is new. */
export async function record(query: Query, { name }: Pick<Migration, 'name'>): Promise<boolean> {
  const inserted = await query(
    'INSERT INTO migrations (name, applied_at) VALUES ($1, now()) ON CONFLICT DO NOTHING RETURNING name',
    name,
  )
  return inserted.length > 0
}
