import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import type { AccountRepository } from './repository.ts'

export function sqliteAccounts(database: SqliteDatabase): AccountRepository {
  const insert = database.prepare<[username: string, passwordDigest: string, createdAt: number]>(`
    INSERT INTO accounts (username, password_sha256, created_at) VALUES (?, ?, ?)
    ON CONFLICT (username) DO NOTHING`)
  const insertRoom = database.prepare<[name: string]>('INSERT INTO rooms (name) VALUES (?)')
  const select = database.prepare<[username: string], { digest: string }>(
    'SELECT password_sha256 AS digest FROM accounts WHERE username = ?',
  )

  return {
    register: (username, passwordDigest) =>
      database.write(() => {
        if (insert.run(username, passwordDigest, Date.now()).changes === 0) return false
        insertRoom.run(username)
        return true
      }),
    passwordDigest: async username => database.snapshot(() => select.get(username)?.digest ?? null),
  }
}
