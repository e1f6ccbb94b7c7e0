import type { ProtectedPages } from '../../login/protected-pages.ts'
import { chatPages } from '../page.tsx'
import { CHAT_STYLES_PATH } from '../styles.ts'
import { ownPage } from './own-page.ts'

/** The name of the cookie that holds a session of the chat. */
export const COOKIE_NAME = 'stockroom-chat'

/** The chat's pages, if users have to log in. */
export const PROTECTED_PAGES: ProtectedPages = {
  loginPath: '/login',
  logoutPath: '/logout',
  isProtected: () => true,
  pageAt: ownPage,
  realm: 'chat',
  title: 'Chat',
  heading: 'Log in to the chat',
  ended: 'Your session has ended. Log in again. Your message is kept.',
  stylesheet: CHAT_STYLES_PATH,
  keptForm: { route: '/chat/:req_id', field: 'user_prompt', page: chatPages({ hasLogin: true }).draft },
}
