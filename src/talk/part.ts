import { databaseSettings, POSTGRES_NOTE } from '../database/settings.ts'
import { CREDENTIALS_NOTE, chatBaseUrl, chatModel } from '../models/settings.ts'
import type { Part } from '../part.ts'
import { exportFile, forget, json, last, search } from './settings.ts'

export const talk: Part = {
  commands: [
    {
      name: 'talk',
      summary: 'Talk with a language model at the terminal, in a room of your own.',
      settings: [...databaseSettings, chatModel, chatBaseUrl, exportFile, last, search, json, forget],
      note: `With --export, --last, --search or --forget, the command does that with your room and exits.

The history is stored in the database: by default in the file data/stockroom.db in the current folder. A new file is
readable by its owner only.

${CREDENTIALS_NOTE}

${POSTGRES_NOTE}`,
      run: async line => (await import('./talk.ts')).talkAtTerminal(line),
    },
  ],
  storage: async () => (await import('./tables.ts')).talkStorage,
}
