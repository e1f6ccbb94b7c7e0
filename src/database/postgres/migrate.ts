import { type Migrations, refuseUnknown } from '../migrations.ts'
import { isCreatedTwice } from './failure.ts'
import type { Pool } from './pool.ts'

/** When many nodes start at once, a node may lose against each of the others. */
const TRIES = 100

/** Whether any migration was ever applied. */
export async function isMigrated(pool: Pool): Promise<boolean> {
  const [found] = await pool.query<{ exists: boolean }>("SELECT to_regclass('migrations') IS NOT NULL AS exists")
  return found?.exists === true
}

/**
 * Applies the missing migrations, each in its own transaction, which first inserts the migration's name. If several nodes
 * insert the same name at once, one goes ahead; the others wait for its commit and then skip the migration. This needs no
 * advisory lock, which some engines lack.
 */
export async function migrate(pool: Pool, parts: readonly Migrations[], place: string): Promise<void> {
  await retryConflicts(() =>
    pool.query('CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL)'),
  )
  const applied = new Set((await pool.query<{ name: string }>('SELECT name FROM migrations')).map(row => row.name))
  const migrations = parts.flatMap(({ postgres }) => postgres)
  refuseUnknown(applied, parts, migrations, place)
  for (const { name, sql } of migrations.filter(candidate => !applied.has(candidate.name))) {
    await retryConflicts(() =>
      pool.transaction(async (query, connection) => {
        const inserted = await query(
          'INSERT INTO migrations (name, applied_at) VALUES ($1, now()) ON CONFLICT DO NOTHING RETURNING name',
          name,
        )
        if (inserted.length > 0) await connection.runScript(sql)
      }),
    )
  }
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
