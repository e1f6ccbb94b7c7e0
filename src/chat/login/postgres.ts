import { randomBytes } from 'node:crypto'
import type { PostgresDatabase } from '../../database/postgres/database.ts'
import { SECRET_BYTES, type SecretRepository } from '../../login/sessions.ts'

const MAKE = 'INSERT INTO chat_secret (id, secret) VALUES (1, $1::text) ON CONFLICT DO NOTHING'

const FIND = 'SELECT secret FROM chat_secret'

export function postgresSecret(database: PostgresDatabase): SecretRepository {
  return {
    secret: async () => {
      await database.write(MAKE, randomBytes(SECRET_BYTES).toString('hex'))
      // As a write, because a replica may lag behind.
      const [row] = await database.write<{ secret: string }>(FIND)
      if (!row) throw new Error('the database returned no secret')
      return Buffer.from(row.secret, 'hex')
    },
  }
}
