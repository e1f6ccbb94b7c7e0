import { randomBytes } from 'node:crypto'
import type { PostgresDatabase } from '../../database/postgres/database.ts'
import { SECRET_BYTES, type StoredSecret } from '../../login/sessions.ts'

/** Returns the existing one, if there is one. */
const MAKE = `
  INSERT INTO chat_secret AS existing (id, secret) VALUES (1, $1::text)
  ON CONFLICT (id) DO UPDATE SET secret = existing.secret RETURNING secret`

export function postgresSecret(database: PostgresDatabase): StoredSecret {
  return async () => {
    const [row] = await database.write<{ secret: string }>(MAKE, randomBytes(SECRET_BYTES).toString('hex'))
    if (!row) throw new Error('the database returned no secret')
    return Buffer.from(row.secret, 'hex')
  }
}
