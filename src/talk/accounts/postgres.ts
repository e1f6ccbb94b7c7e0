import type { PostgresDatabase } from '../../database/postgres/database.ts'
import type { AccountRepository } from './repository.ts'

const REGISTER = `
  WITH registered AS (
    INSERT INTO accounts (username, password_sha256) VALUES ($1::text, $2::text)
    ON CONFLICT (username) DO NOTHING RETURNING username
  )
  INSERT INTO rooms (name) SELECT username FROM registered RETURNING name`

const SELECT = 'SELECT password_sha256 AS digest FROM accounts WHERE username = $1::text'

export function postgresAccounts(database: PostgresDatabase): AccountRepository {
  return {
    register: async (username, passwordDigest) => (await database.write(REGISTER, username, passwordDigest)).length > 0,
    passwordDigest: async username => {
      // PostgreSQL cannot store U+0000, so there is no such account.
      if (username.includes('\0')) return null
      const [account] = await database.read<{ digest: string }>(SELECT, username)
      return account?.digest ?? null
    },
  }
}
