import type { PostgresDatabase } from '../database/postgres/database.ts'
import { KEYS_MAX, type KeyRepository, type StoredKey } from './repository.ts'

/** Concurrent statements do not see each other, so there may be a few more keys than the limit. */
const CREATE = `
  INSERT INTO access_keys (name, sha256, scope)
  SELECT $1::text, $2::text, $3::text WHERE (SELECT count(*) FROM access_keys) < ${KEYS_MAX}
  ON CONFLICT (name) DO NOTHING RETURNING name`

const LIST = `
  SELECT name, sha256 AS digest, scope, (extract(epoch FROM created_at) * 1000)::float8 AS "createdAt"
  FROM access_keys ORDER BY name COLLATE "C"`

const REVOKE = 'DELETE FROM access_keys WHERE name = $1::text RETURNING name'

export function postgresAccessKeys(database: PostgresDatabase): KeyRepository {
  return {
    create: async ({ name, digest, scope }) => (await database.write(CREATE, name, digest, scope)).length > 0,
    list: () => database.read<StoredKey>(LIST),
    revoke: async name => (await database.write(REVOKE, name)).length > 0,
  }
}
