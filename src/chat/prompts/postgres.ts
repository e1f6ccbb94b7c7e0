import type { PostgresDatabase } from '../../database/postgres/database.ts'
import { KEEPING, type Keeping } from './keeping.ts'
import type { PromptRepository } from './repository.ts'

/** Forgotten in one step. Nodes that forget at once pass over what another one forgets. */
const FORGET_STEP = 256

const KEEP = `
  WITH kept AS (
    INSERT INTO prompts (req_id, text) VALUES ($1::text, $2::text)
    ON CONFLICT (req_id) DO UPDATE SET text = excluded.text WHERE NOT prompts.is_claimed
    RETURNING text
  )
  SELECT text FROM kept
  UNION ALL
  SELECT text FROM prompts WHERE req_id = $1::text AND NOT EXISTS (SELECT 1 FROM kept)`

const FIND = 'SELECT text FROM prompts WHERE req_id = $1::text'

/** By age alone: not all engines count up their ids without gaps. */
const FORGET = `
  DELETE FROM prompts WHERE id IN (
    SELECT prompt.id FROM prompts AS prompt
    WHERE (
      (prompt.created_at, prompt.id) <= (
        SELECT created_at, id FROM prompts ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET $1::bigint
      ) OR prompt.created_at < now() - $2::float8 * interval '1 millisecond'
    ) AND NOT EXISTS (
      SELECT 1 FROM answers WHERE answers.req_id = prompt.req_id AND answers.state IN ('waiting', 'running')
    )
    ORDER BY prompt.created_at, prompt.id LIMIT $3::bigint
    FOR UPDATE OF prompt SKIP LOCKED
  ) RETURNING id`

export function postgresPrompts(
  database: PostgresDatabase,
  { promptsMax, ageMaxMs }: Keeping = KEEPING,
): PromptRepository {
  return {
    keep: async (reqId, text) => (await database.write<{ text: string }>(KEEP, reqId, text))[0]?.text ?? text,
    find: async reqId => {
      // PostgreSQL stores no such text.
      if (reqId.includes('\0')) return null
      return (await database.read<{ text: string }>(FIND, reqId))[0]?.text ?? null
    },
    forgetSome: async () => (await database.write(FORGET, promptsMax, ageMaxMs, FORGET_STEP)).length,
  }
}
