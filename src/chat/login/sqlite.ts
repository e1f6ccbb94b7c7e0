import { randomBytes } from 'node:crypto'
import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import { SECRET_BYTES, type StoredSecret } from '../../login/sessions.ts'

export function sqliteSecret(database: SqliteDatabase): StoredSecret {
  const select = database.prepare<[], { secret: string }>('SELECT secret FROM chat_secret')
  const insert = database.prepare<[secret: string]>(
    'INSERT INTO chat_secret (id, secret) VALUES (1, ?) ON CONFLICT DO NOTHING',
  )
  const make = () =>
    database.write(() => {
      const secret = randomBytes(SECRET_BYTES).toString('hex')
      insert.run(secret)
      return select.get() ?? { secret }
    })
  return async () => Buffer.from(((await database.snapshot(() => select.get())) ?? (await make())).secret, 'hex')
}
