import { LOG_NO_CHANGES } from '../../../database/postgres/changes.ts'
import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { Query } from '../../../database/postgres/pool.ts'
import {
  type Claim,
  DELETED_AT_ONCE,
  ENTRY_BYTES,
  entryBytes,
  KEPT_MS,
  type KeptAnswer,
  type KeyStore,
  KeyTakenError,
  newFingerprintSecret,
  SECRET_NAME,
} from '../idempotency/keys.ts'
import { logsEveryTransaction } from './log.ts'

/** An answer may have some MiB. */
const LOOKED_UP_AT_ONCE = { statementsMax: 2, inputsMax: 32 }

/** The clock of the database, because those of nodes may differ. */
const NOW = '(extract(epoch FROM statement_timestamp()) * 1000)::bigint'

const FIND = `
  SELECT key, fingerprint, answer, revision::float8 AS revision FROM idempotency_keys
  WHERE key = ANY (ARRAY(SELECT json_array_elements_text($1::text::json)))`

const IS_KEPT = `created_at > ${NOW} - ${KEPT_MS}`

/**
 * Waits until other transactions that store one of the same keys have ended. An expired entry is replaced. Keys are in order,
 * so that no two transactions wait for each other.
 */
const KEEP = `
  INSERT INTO idempotency_keys AS kept (key, fingerprint, created_at, bytes, answer, revision)
  SELECT key, fingerprint, ${NOW}, octet_length(answer) + ${ENTRY_BYTES}, answer, revision
  FROM json_to_recordset($1::text::json) AS input (key text, fingerprint text, answer text, revision bigint) ORDER BY key
  ON CONFLICT (key) DO UPDATE
  SET fingerprint = excluded.fingerprint, created_at = excluded.created_at, bytes = excluded.bytes,
    answer = excluded.answer, revision = excluded.revision
  WHERE kept.created_at <= ${NOW} - ${KEPT_MS}
  RETURNING key`

const DELETE_EXPIRED = `
  DELETE FROM idempotency_keys WHERE key IN (
    SELECT key FROM idempotency_keys WHERE created_at <= ${NOW} - ${KEPT_MS}
    ORDER BY created_at LIMIT ${DELETED_AT_ONCE} FOR UPDATE SKIP LOCKED
  ) RETURNING key`

/** A claim with its answer. */
type ClaimedAnswer = Claim & Omit<KeptAnswer, 'fingerprint'>

/** Stores answers in the transaction of a write. Rejects with a `KeyTakenError` for the first key that is taken. */
export async function keepAnswers(ask: Query, answers: readonly ClaimedAnswer[]): Promise<void> {
  if (answers.length === 0) return
  const kept = await ask<{ key: string }>(KEEP, JSON.stringify(answers))
  const isKept = new Set(kept.map(({ key }) => key))
  for (const { key, answer, stored } of answers) if (isKept.has(key)) stored(entryBytes(answer))
  if (isKept.size === answers.length) return
  const others = answers.map(({ key }) => key).filter(key => !isKept.has(key))
  const [taken] = await ask<KeptAnswer & { readonly key: string }>(FIND, JSON.stringify(others))
  throw taken ? new KeyTakenError(taken.key, taken) : new Error('an answer was not stored, for no reason')
}

export function postgresKeyStore(database: PostgresDatabase): KeyStore {
  const batch = database.batch<string, KeptAnswer | null>(async keys => {
    const found = await database.read<KeptAnswer & { readonly key: string }>(
      `${FIND} AND ${IS_KEPT}`,
      JSON.stringify(keys),
    )
    const byKey = new Map(found.map(kept => [kept.key, kept]))
    return keys.map(key => byKey.get(key) ?? null)
  }, LOOKED_UP_AT_ONCE)
  /** Runs a statement that changes no resource. */
  const write = <Row>(statement: string, ...parameters: string[]) => {
    const log = logsEveryTransaction(database) ? `, logged AS (${LOG_NO_CHANGES} FROM done HAVING count(*) > 0)` : ''
    return database.write<Row>(`WITH done AS (${statement})${log} SELECT * FROM done`, ...parameters)
  }
  return {
    find: key => batch.add(key),
    secret: async () => {
      // Returns the existing one. If another transaction is inserting it, waits for its commit.
      const [made] = await write<{ secret: string }>(
        `INSERT INTO idempotency_secrets AS existing (name, secret) VALUES ($1::text, $2::text)
        ON CONFLICT (name) DO UPDATE SET secret = existing.secret RETURNING secret`,
        SECRET_NAME,
        newFingerprintSecret(),
      )
      if (!made) throw new Error('the database made no secret')
      return made.secret
    },
    bytes: async () => {
      const [sum] = await database.read<{ bytes: number }>(
        `SELECT coalesce(sum(bytes), 0)::float8 AS bytes FROM idempotency_keys WHERE ${IS_KEPT}`,
      )
      return sum?.bytes ?? 0
    },
    deleteExpired: async () => (await write(DELETE_EXPIRED)).length,
  }
}
