import type { PostgresDatabase } from '../../database/postgres/database.ts'
import { IN_PROGRESS } from '../in-progress.ts'
import type { PromptRepository } from './repository.ts'
import { RECENT_MS, RECENT_UNANSWERED_MS } from './retention.ts'

/** Number of prompts deleted in one write. Concurrent nodes skip the rows that another one has locked. */
const DELETE_BATCH_MAX = 256

/** Concurrent prompts do not see each other, so an address may have a few more than its limit. */
const STORE = `
  WITH recent AS (
    SELECT 1 FROM prompts
    WHERE address = $3::text AND created_at > now() - ${RECENT_MS} * interval '1 millisecond'
      AND (is_claimed OR created_at > now() - ${RECENT_UNANSWERED_MS} * interval '1 millisecond')
    LIMIT $4::bigint
  ), stored AS (
    INSERT INTO prompts (req_id, text, address)
    SELECT $1::text, $2::text, $3::text
    WHERE EXISTS (SELECT 1 FROM prompts WHERE req_id = $1::text)
      OR (SELECT count(*) FROM recent) < $4::bigint
    ON CONFLICT (req_id) DO UPDATE SET text = excluded.text WHERE NOT prompts.is_claimed
    RETURNING text
  )
  SELECT text FROM stored
  UNION ALL
  SELECT text FROM prompts WHERE req_id = $1::text AND NOT EXISTS (SELECT 1 FROM stored)`

const FIND = 'SELECT text FROM prompts WHERE req_id = $1::text'

const COUNT = 'SELECT count(*)::int AS count FROM prompts'

const TIME = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS time'

const BEFORE = 'created_at < to_timestamp($1::float8 / 1000)'

const DELETE_OLDEST = `
  DELETE FROM prompts WHERE id IN (
    SELECT prompt.id FROM prompts AS prompt
    WHERE prompt.${BEFORE} AND NOT EXISTS (
      SELECT 1 FROM answers WHERE answers.req_id = prompt.req_id AND ${IN_PROGRESS}
    )
    ORDER BY prompt.created_at, prompt.id LIMIT $2::bigint
    FOR UPDATE OF prompt SKIP LOCKED
  ) RETURNING id`

/** Checks again that a prompt is not claimed, once its row is locked. */
const DELETE_UNANSWERED = `
  DELETE FROM prompts WHERE id IN (
    SELECT prompt.id FROM prompts AS prompt JOIN (
      SELECT id FROM prompts WHERE ${BEFORE} AND NOT is_claimed
      ORDER BY count(*) OVER (PARTITION BY address) DESC, created_at, id LIMIT $2::bigint
    ) AS candidate ON candidate.id = prompt.id
    WHERE NOT prompt.is_claimed
    FOR UPDATE OF prompt SKIP LOCKED
  ) RETURNING id`

const REMOVE_ADDRESSES = `
  UPDATE prompts SET address = NULL WHERE id IN (
    SELECT id FROM prompts WHERE address IS NOT NULL AND ${BEFORE} LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED
  ) RETURNING id`

export function postgresPrompts(database: PostgresDatabase): PromptRepository {
  const runBatch = async (sql: string, before: number, max: number) =>
    (await database.write(sql, before, Math.min(max, DELETE_BATCH_MAX))).length
  return {
    store: async ({ reqId, text, address }, perAddressMax) => {
      const [row] = await database.write<{ text: string }>(STORE, reqId, text, address, perAddressMax)
      return row?.text ?? null
    },
    find: async reqId => (await database.read<{ text: string }>(FIND, reqId))[0]?.text ?? null,
    count: async () => (await database.read<{ count: number }>(COUNT))[0]?.count ?? 0,
    // As a write, because a replica has a clock of its own.
    time: async () => {
      const [row] = await database.write<{ time: number }>(TIME)
      if (!row) throw new Error('the database returned no time')
      return row.time
    },
    deleteOldest: (before, max) => runBatch(DELETE_OLDEST, before, max),
    deleteUnanswered: (before, max) => runBatch(DELETE_UNANSWERED, before, max),
    removeAddresses: before => runBatch(REMOVE_ADDRESSES, before, DELETE_BATCH_MAX),
  }
}
