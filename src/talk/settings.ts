import { optionalAmount, optionalText, toggle } from '../config.ts'

const MESSAGES_PRINTED_MAX = 10_000

export const exportFile = optionalText('export', 'FILE', "write your room's messages into a new file, as markdown")
export const last = optionalAmount('last', MESSAGES_PRINTED_MAX, 'print your last N messages, answers included')
export const search = optionalText('search', 'WORDS', 'print the messages that have all these words')
export const json = toggle('json', 'print them as JSON, one message a line')
export const forget = toggle('forget', 'delete all messages of your room, after asking')
