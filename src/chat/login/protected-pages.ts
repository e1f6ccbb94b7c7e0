import type { ProtectedPages } from '../../login/protected-pages.ts'
import { chatPages } from '../page.tsx'
import { CHAT_STYLES_PATH } from '../styles.ts'

/** The name of the cookie that holds a session of the chat. */
export const COOKIE_NAME = 'stockroom-chat'

/** A turn's page, by the characters that may stand in a path segment. */
const TURN = /^\/chat\/[\w~!$&'()*+,;=:@%-][\w.~!$&'()*+,;=:@%-]*/

/** The chat's pages, if users have to log in. */
export const PROTECTED_PAGES: ProtectedPages = {
  loginPath: '/login',
  logoutPath: '/logout',
  isProtected: () => true,
  // Always leads to the chat, even if somebody has put another path into a link.
  pageAt: path => TURN.exec(path)?.[0] ?? '/',
  realm: 'chat',
  title: 'Chat',
  heading: 'Log in to the chat',
  ended: 'Your session has ended. Log in again. Your message is kept.',
  stylesheet: CHAT_STYLES_PATH,
  keptForm: { route: '/chat/:req_id', field: 'user_prompt', page: chatPages({ hasLogin: true }).draft },
}
