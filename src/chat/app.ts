import { Hono } from 'hono'
import type { Login } from '../login/login.ts'
import { addLogin } from '../login/routes.ts'
import { formLimit } from '../pages/form.ts'
import { addStaticFiles } from '../pages/static.ts'
import { finishApp, type Probe } from '../server/app.ts'
import { refuseOtherOrigins } from '../server/own-pages.ts'
import type { App } from '../server/requests.ts'
import { routing } from '../server/routing.ts'
import script from './chat.client.js' with { type: 'text' }
import { PROTECTED_PAGES } from './login/protected-pages.ts'
import { chatPages } from './page.tsx'
import { addChatRoutes, type ChatServices } from './routes.ts'
import { CHAT_STYLES } from './styles.ts'

export interface ChatOptions extends ChatServices {
  /** `null` if everybody may use the chat. */
  readonly login: Login | null
  readonly probe: Probe
}

/** The chat stream app. It opens no port: call `fetch` with a request. */
export function createChat({ login, probe, ...services }: ChatOptions): App {
  const chat: App = new Hono(routing())
  chat.use(async (context, next) => {
    // Other sites may link to the chat, but must not send forms in the name of their readers.
    if (context.req.method === 'POST') refuseOtherOrigins(context.req.raw.headers)
    await next()
  })
  chat.use(formLimit())
  const pages = chatPages({ hasLogin: login !== null })
  if (login) addLogin(chat, login, PROTECTED_PAGES)
  addChatRoutes(chat, services, pages)
  addStaticFiles(chat, { 'chat.js': script, 'chat.css': CHAT_STYLES })
  finishApp(chat, probe)
  return chat
}
