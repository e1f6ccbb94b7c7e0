import { optionalAmount, optionalText, toggle } from '../program/config.ts'

const MESSAGES_PRINTED_MAX = 10_000

export const exportFile = optionalText('export', 'FILE', "write your room's messages to a new markdown file")
export const last = optionalAmount('last', MESSAGES_PRINTED_MAX, 'print your last N messages, answers included')
export const search = optionalText('search', 'WORDS', 'print the messages that contain all these words')
export const json = toggle('json', 'print them as JSON, one message per line')
export const forget = toggle('forget', 'delete all messages of your room, after you confirm')
