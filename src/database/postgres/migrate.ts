import { OperatorError } from '../../operator-error.ts'
import { type Migrations, unknownMigration } from '../migrations.ts'
import { isMadeTwice } from './failure.ts'
import type { Pool } from './pool.ts'

/** Nodes that start at once may each lose against the others, once for each migration. */
const TRIES = 100

/** Whether anything was ever applied. */
export async function isMigrated(pool: Pool): Promise<boolean> {
  const [found] = await pool.query<{ exists: boolean }>("SELECT to_regclass('migrations') IS NOT NULL AS exists")
  return found?.exists === true
}

/**
 * Applies what is missing, each migration in a transaction of its own that begins with its name. Of several nodes that
 * insert the same name at once, all but one wait for that one's commit, and then find that it is done. No lock is
 * needed, which not all engines have.
 */
export async function migrate(pool: Pool, parts: readonly Migrations[], place: string): Promise<void> {
  await persistently(() =>
    pool.query('CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL)'),
  )
  const applied = new Set((await pool.query<{ name: string }>('SELECT name FROM migrations')).map(row => row.name))
  const migrations = parts.flatMap(({ postgres }) => postgres)
  const unknown = unknownMigration(parts, migrations, applied)
  if (unknown) {
    throw new OperatorError(`${place} was written by a newer version of stockroom (it has the migration ${unknown})`)
  }
  for (const { name, sql } of migrations.filter(candidate => !applied.has(candidate.name))) {
    await persistently(() =>
      pool.transaction(async query => {
        const mine = await query(
          'INSERT INTO migrations (name, applied_at) VALUES ($1, now()) ON CONFLICT DO NOTHING RETURNING name',
          name,
        )
        if (mine.length > 0) for (const statement of statementsOf(sql)) await query(statement)
      }),
    )
  }
}

/** A migration's statements; none of them has a semicolon within. */
function statementsOf(sql: string): string[] {
  return sql
    .replaceAll(/--.*$/gm, '')
    .split(';')
    .map(statement => statement.trim())
    .filter(statement => statement !== '')
}

async function persistently(work: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await work()
      return
    } catch (error) {
      if (!isMadeTwice(error) || tries === TRIES) throw error
    }
  }
}
