import { setImmediate as turn } from 'node:timers/promises'
import type { SqliteDatabase, SqliteTransaction } from '../../../database/sqlite/database.ts'
import {
  type Claim,
  DELETED_AT_ONCE,
  entryBytes,
  KEPT_MS,
  type KeptAnswer,
  type KeyStore,
  KeyTakenError,
  newFingerprintSecret,
  SECRET_NAME,
} from '../idempotency/keys.ts'

/** Entries of this time are counted in one turn of the event loop. */
const COUNTED_AT_ONCE_MS = 600_000

export type SqliteKeys = ReturnType<typeof sqliteKeys>

/** Finds and stores answers in the transaction of a write. */
export function sqliteKeys(source: SqliteTransaction) {
  const select = source.prepare<[key: string, after: number], KeptAnswer>(
    'SELECT fingerprint, answer, revision FROM idempotency_keys WHERE key = ? AND created_at > ?',
  )
  const find = (key: string) => select.get(key, Date.now() - KEPT_MS)
  // An expired entry is replaced.
  const insert = source.prepare<
    [key: string, fingerprint: string, createdAt: number, bytes: number, answer: string, revision: number | null]
  >(`
    INSERT OR REPLACE INTO idempotency_keys (key, fingerprint, created_at, bytes, answer, revision)
    VALUES (?, ?, ?, ?, ?, ?)`)
  return {
    find,
    /** Throws a `KeyTakenError`. */
    keep: ({ key, fingerprint, stored }: Claim, answer: string, revision: number | null) => {
      const kept = find(key)
      if (kept) throw new KeyTakenError(key, kept)
      const bytes = entryBytes(answer)
      insert.run(key, fingerprint, Date.now(), bytes, answer, revision)
      stored(bytes)
    },
  }
}

export function sqliteKeyStore(database: SqliteDatabase, { find }: SqliteKeys): KeyStore {
  const makeSecret = database.prepare<[name: string, secret: string], { secret: string }>(
    'INSERT INTO idempotency_secrets (name, secret) VALUES (?, ?) ON CONFLICT DO UPDATE SET secret = secret RETURNING secret',
  )
  const selectSecret = database.prepare<[name: string], { secret: string }>(
    'SELECT secret FROM idempotency_secrets WHERE name = ?',
  )
  const sum = database.prepare<[from: number, until: number], { bytes: number }>(
    'SELECT coalesce(sum(bytes), 0) AS bytes FROM idempotency_keys WHERE created_at >= ? AND created_at < ?',
  )
  const selectExpired = database.prepare<[until: number], { key: string }>(
    'SELECT key FROM idempotency_keys WHERE created_at <= ? LIMIT 1',
  )
  const deleteSome = database.prepare<[until: number]>(`
    DELETE FROM idempotency_keys WHERE key IN (
      SELECT key FROM idempotency_keys WHERE created_at <= ? ORDER BY created_at LIMIT ${DELETED_AT_ONCE}
    )`)
  return {
    find: key => {
      const kept = database.look(() => find(key), 'write')
      // It may not be on the disk yet.
      return kept && database.snapshot(() => find(key))
    },
    secret: async () => {
      const known = database.look(() => selectSecret.get(SECRET_NAME), 'write')
      const made = known ?? (await database.write(() => makeSecret.get(SECRET_NAME, newFingerprintSecret())))
      if (!made) throw new Error('the database made no secret')
      return made.secret
    },
    bytes: async () => {
      let bytes = 0
      const now = Date.now()
      for (let from = now - KEPT_MS; from <= now; from += COUNTED_AT_ONCE_MS) {
        const until = from + COUNTED_AT_ONCE_MS
        // If the clock was set back, some were stored at later times.
        const end = until > now ? Number.MAX_SAFE_INTEGER : until
        bytes += database.look(() => sum.get(from, end)?.bytes ?? 0)
        await turn()
      }
      return bytes
    },
    deleteExpired: async () => {
      const until = Date.now() - KEPT_MS
      // A write would take the lock and sync the log even if it deletes nothing.
      if (!database.look(() => selectExpired.get(until), 'write')) return 0
      return database.write(() => deleteSome.run(until).changes)
    },
  }
}
