import { optional, toggle, wholeNumber } from '../program/config.ts'

const MESSAGES_PRINTED_MAX = 10_000

const anyText = (text: string) => text
const messages = (text: string) => wholeNumber(text, 1, MESSAGES_PRINTED_MAX)

export const exportFile = optional('export', 'FILE', anyText, "write your room's messages to a new markdown file")
export const last = optional('last', 'N', messages, 'print your last N messages, answers included')
export const search = optional('search', 'WORDS', anyText, 'print the messages that contain all these words')
export const json = toggle('json', 'print them as JSON, one message per line')
export const forget = toggle('forget', 'delete all messages of your room, after you confirm')
