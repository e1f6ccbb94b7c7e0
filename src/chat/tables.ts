import type { Storage } from '../part.ts'
import { textAfter } from './answers/postgres.ts'
import { chatMigrations } from './migrations/index.ts'

export const chatStorage: Storage = {
  migrations: chatMigrations,
  tables: [
    {
      name: 'prompts',
      key: 'id',
      columns: { id: 'integer', req_id: 'text', text: 'text', created_at: 'time' },
      // On PostgreSQL, the prompt's own row says that its answer has begun.
      postgresAfterCopy: 'UPDATE prompts SET is_claimed = true WHERE req_id IN (SELECT req_id FROM answers)',
    },
    {
      name: 'answers',
      key: 'req_id',
      columns: {
        req_id: 'text',
        state: 'text',
        text: 'text',
        failure: 'text',
        stop_asked: 'flag',
        alive_at: 'time',
        heard_at: 'time',
      },
      // The end of a growing answer is in other rows.
      postgres: { text: textAfter('0') },
    },
  ],
}
