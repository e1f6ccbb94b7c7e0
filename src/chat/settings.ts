import { type CommandLine, type Setting, wholeNumber } from '../config.ts'
import { port } from '../server/settings.ts'
import { ANSWER_LIMITS, type AnswerLimits } from './answers/limits.ts'
import { RETENTION, type Retention } from './prompts/retention.ts'

const BOUND_MAX = 1_000_000_000

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

export const boundSettings = [answersPerAddress, promptsPerAddress, promptsMax]

/** Throws a `SettingError` that names the wrong setting. */
export function readAnswerLimits(line: CommandLine): AnswerLimits {
  return { ...ANSWER_LIMITS, perAddressMax: line.value(answersPerAddress) }
}

/** Throws a `SettingError` that names the wrong setting. */
export function readRetention(line: CommandLine): Retention {
  return { ...RETENTION, perAddressMax: line.value(promptsPerAddress), promptsMax: line.value(promptsMax) }
}

/** A setting whose flag is its variable without `CHAT_`. */
function bound(variable: string, fallback: number, meaning: string): Setting<number> {
  return {
    variable,
    flag: variable.replace('CHAT_', '').replaceAll('_', '-').toLowerCase(),
    placeholder: 'N',
    fallback: String(fallback),
    meaning,
    parse: text => wholeNumber(text, 1, BOUND_MAX),
  }
}
