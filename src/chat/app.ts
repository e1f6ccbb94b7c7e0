import { Hono } from 'hono'
import { addStaticFiles } from '../pages/static.ts'
import { finishApp } from '../server/app.ts'
import { refuseOtherOrigins } from '../server/own-pages.ts'
import type { App } from '../server/requests.ts'
import { routing } from '../server/routing.ts'
import script from './chat.client.js' with { type: 'text' }
import styles from './chat.css' with { type: 'text' }
import type { Lock } from './lock/lock.ts'
import { addLock } from './lock/routes.ts'
import { chatPages } from './page.tsx'
import type { Repositories } from './repositories.ts'
import { addChatRoutes, type ChatServices } from './routes.ts'

export interface ChatOptions extends ChatServices {
  /** `null` if everybody may use the chat. */
  readonly lock: Lock | null
  readonly probe: Repositories['probe']
}

/** The chat stream app. It opens no port: call `fetch` with a request. */
export function createChat({ lock, probe, ...services }: ChatOptions): App {
  const chat: App = new Hono(routing())
  chat.use(async (context, next) => {
    // Other sites may link to the chat, but must not send forms in the name of their readers.
    if (context.req.method === 'POST') refuseOtherOrigins(context.req.raw.headers)
    await next()
  })
  const pages = chatPages({ hasLogin: lock !== null })
  if (lock) addLock(chat, lock, pages)
  addChatRoutes(chat, services, pages)
  addStaticFiles(chat, { 'chat.js': script, 'chat.css': styles })
  finishApp(chat, probe)
  return chat
}
