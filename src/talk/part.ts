import { databaseSettings } from '../database/settings.ts'
import { CREDENTIALS_NOTE, chatBaseUrl, chatModel } from '../models/settings.ts'
import type { Part } from '../part.ts'
import { talkMigrations } from './migrations/index.ts'
import { exportFile, forget, json, last, search } from './settings.ts'
import { talkTables } from './tables.ts'

export const talk: Part = {
  commands: [
    {
      name: 'talk',
      operands: '',
      summary: 'Talk with a language model at the terminal, in a room of your own.',
      settings: [...databaseSettings, chatModel, chatBaseUrl, exportFile, last, search, json, forget],
      note: `With --export, --last, --search or --forget, it does that with your room instead of talking.

The history is kept in the database: unless --database names another one, that is the file data/stockroom.db in the
folder where it is started. Such a file is made readable by its owner alone.

${CREDENTIALS_NOTE}`,
      run: async line => (await import('./talk.ts')).talk(line),
    },
  ],
  storage: { migrations: talkMigrations, tables: talkTables },
}
