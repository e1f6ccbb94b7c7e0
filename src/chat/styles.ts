import { LOGIN_STYLES } from '../login/login-page.tsx'
import { staticPath } from '../pages/static.ts'
import conversation from './conversation.css' with { type: 'text' }
import frame from './frame.css' with { type: 'text' }

/** The style sheet of all pages of the chat. */
export const CHAT_STYLES = [frame, LOGIN_STYLES, conversation].join('\n')

export const CHAT_STYLES_PATH = staticPath('chat.css', CHAT_STYLES)
