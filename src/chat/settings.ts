import { countCodePoints } from '../limits/code-points.ts'
import { type CommandLine, count, type Setting, secret, wholeNumber } from '../program/config.ts'
import { SettingError } from '../program/operator-error.ts'
import { port } from '../server/settings.ts'
import { ANSWER_LIMITS } from './answers/limits.ts'
import { RETENTION } from './prompts/retention.ts'
import { UNBOUNDED } from './spending/spending.ts'

const BOUND_MAX = 1_000_000_000

/** A shorter password could be guessed in spite of the limits on wrong ones. */
const PASSWORD_MIN_CHARACTERS = 8

export const chatPort = port(6543)

const answersPerAddress = bound(
  'CHAT_ANSWERS_PER_ADDRESS',
  ANSWER_LIMITS.perAddressMax,
  'maximum number of answers per client address, queued or running; beyond it, requests get 429',
)

const promptsPerAddress = bound(
  'CHAT_PROMPTS_PER_ADDRESS',
  RETENTION.perAddressMax,
  'maximum number of prompts per client address and day; beyond it, requests get 429',
)

const promptsMax = bound(
  'CHAT_PROMPTS_MAX',
  RETENTION.promptsMax,
  'maximum number of stored prompts; beyond it, prompts that are not recent are deleted, or else requests get 503',
)

const answersPerDay = dailyBound(
  'CHAT_ANSWERS_PER_DAY',
  'maximum number of answers per client address or key and day (UTC); beyond it, requests get 429; none by default',
)

const tokensPerDay = dailyBound(
  'CHAT_TOKENS_PER_DAY',
  'maximum number of tokens per client address or key and day (UTC), of prompts and answers; beyond it, requests get 429; none by default',
)

export const boundSettings = [answersPerAddress, promptsPerAddress, promptsMax, answersPerDay, tokensPerDay]

/** For --help. */
export const PASSWORD_NOTE = `Set CHAT_PASSWORD, or CHAT_PASSWORD_FILE with the path of a file, to let in only users who know that password.`

/** `null` if everybody may use the chat. Throws a `SettingError`. */
export function readChatPassword(): string | null {
  return secret('CHAT_PASSWORD', password => {
    // Browsers remove line breaks from a typed password, and nobody can type control characters.
    if (/\p{Cc}/u.test(password)) throw new SettingError('a password must not contain control characters')
    if (countCodePoints(password) < PASSWORD_MIN_CHARACTERS) {
      throw new SettingError(
        `a password needs at least ${PASSWORD_MIN_CHARACTERS} characters, because it can be guessed`,
      )
    }
    return password
  })
}

/** Throws a `SettingError` that names the wrong setting. */
export function readBounds(line: CommandLine) {
  return {
    limits: { ...ANSWER_LIMITS, perAddressMax: line.value(answersPerAddress) },
    retention: { ...RETENTION, perAddressMax: line.value(promptsPerAddress), promptsMax: line.value(promptsMax) },
    daily: { answersMax: line.value(answersPerDay), tokensMax: line.value(tokensPerDay) },
  }
}

/** A bound on the chat. Its flag is the variable's name without `chat-`. */
function bound(variable: string, fallback: number, meaning: string): Setting<number> {
  const setting = count(variable, fallback, [1, BOUND_MAX], meaning)
  return { ...setting, flag: setting.flag.replace('chat-', '') }
}

function dailyBound(variable: string, meaning: string): Setting<number> {
  const parse = (text: string) => (text === '' ? UNBOUNDED : wholeNumber(text, 1, BOUND_MAX))
  return { ...bound(variable, UNBOUNDED, meaning), fallback: '', parse }
}
