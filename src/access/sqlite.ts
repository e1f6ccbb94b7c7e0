import type { SqliteDatabase } from '../database/sqlite/database.ts'
import type { Scope } from './key.ts'
import { KEYS_MAX, type KeyRepository, type StoredKey } from './repository.ts'

export function sqliteAccessKeys(database: SqliteDatabase): KeyRepository {
  const insert = database.prepare<[name: string, digest: string, scope: Scope, createdAt: number]>(`
    INSERT INTO access_keys (name, sha256, scope, created_at)
    SELECT ?, ?, ?, ? WHERE (SELECT count(*) FROM access_keys) < ${KEYS_MAX}
    ON CONFLICT (name) DO NOTHING`)
  const select = database.prepare<[], StoredKey>(
    'SELECT name, sha256 AS digest, scope, created_at AS createdAt FROM access_keys ORDER BY name',
  )
  const remove = database.prepare<[name: string]>('DELETE FROM access_keys WHERE name = ?')

  return {
    create: ({ name, digest, scope }) => database.write(() => insert.run(name, digest, scope, Date.now()).changes > 0),
    list: async () => database.snapshot(() => select.all()),
    revoke: name => database.write(() => remove.run(name).changes > 0),
  }
}
