import { Hono } from 'hono'
import { addStaticFiles } from '../pages/static.ts'
import { finishApp } from '../server/app.ts'
import { refuseOtherOrigins } from '../server/own-pages.ts'
import type { App } from '../server/requests.ts'
import { routing } from '../server/routing.ts'
import type { Answers } from './answers/answers.ts'
import script from './chat.client.js' with { type: 'text' }
import styles from './chat.css' with { type: 'text' }
import type { Prompts } from './prompts/prompts.ts'
import type { Repositories } from './repositories.ts'
import { addChatRoutes } from './routes.ts'

export interface ChatOptions {
  readonly prompts: Prompts
  readonly answers: Answers
  readonly probe: Repositories['probe']
}

/** The chat stream app. It opens no port: call `fetch` with a request. */
export function createChat({ prompts, answers, probe }: ChatOptions): App {
  const chat: App = new Hono(routing())
  chat.use(async (context, next) => {
    // Other sites may link to the chat, but must not send forms in the name of their readers.
    if (context.req.method === 'POST') refuseOtherOrigins(context.req.raw.headers)
    await next()
  })
  addChatRoutes(chat, prompts, answers)
  addStaticFiles(chat, { 'chat.js': script, 'chat.css': styles })
  finishApp(chat, probe)
  return chat
}
