import { auth } from '../access/settings.ts'
import { adminSettings } from '../admin/settings.ts'
import { DATABASE_NOTE, databaseSettings } from '../database/settings.ts'
import { CREDENTIALS_NOTE, chatBaseUrl, chatModel } from '../models/settings.ts'
import type { Part } from '../part.ts'
import { host, serverSettings } from '../server/settings.ts'
import { TRACING_NOTE, tracingSettings } from '../tracing/settings.ts'
import { boundSettings, chatPort, PASSWORD_NOTE } from './settings.ts'

export const chat: Part = {
  commands: [
    {
      name: 'chat',
      summary: "Serve the chat page, and stream a language model's answers to it.",
      settings: [
        host,
        chatPort,
        ...databaseSettings,
        chatModel,
        chatBaseUrl,
        auth,
        ...boundSettings,
        ...serverSettings,
        ...adminSettings,
        ...tracingSettings,
      ],
      note: `${CREDENTIALS_NOTE}\n\n${PASSWORD_NOTE}\n\n${DATABASE_NOTE}\n\n${TRACING_NOTE}`,
      run: async line => (await import('./serve.ts')).serveChat(line),
    },
  ],
  storage: async () => (await import('./tables.ts')).chatStorage,
}
