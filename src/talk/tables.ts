import type { Storage } from '../part.ts'
import { talkMigrations } from './migrations/index.ts'

export const talkStorage: Storage = {
  migrations: talkMigrations,
  tables: [
    { name: 'accounts', key: 'username', columns: { username: 'text', password_sha256: 'text', created_at: 'time' } },
    { name: 'rooms', key: 'name', columns: { name: 'text' } },
    {
      name: 'messages',
      key: 'id',
      columns: {
        id: 'integer',
        room: 'text',
        sender: 'text',
        text: 'text',
        sent_at: 'time',
        answer_to: 'integer',
        stopped: 'flag',
      },
    },
  ],
}
