import { type CommandLine, type Setting, wholeNumber } from '../config.ts'
import { port } from '../server/settings.ts'
import { ANSWER_LIMITS, type AnswerLimits } from './answers/limits.ts'
import { KEEPING, type Keeping } from './prompts/keeping.ts'

const BOUND_MAX = 1_000_000_000

export const chatPort = port(6543)

const answersPerAddress = bound(
  'CHAT_ANSWERS_PER_ADDRESS',
  ANSWER_LIMITS.perAddressMax,
  'answers under way for clients at one address, those that wait for the model included; more is 429',
)

const promptsPerAddress = bound(
  'CHAT_PROMPTS_PER_ADDRESS',
  KEEPING.perAddressMax,
  'prompts that are stored in a day for clients at one address; more is 429',
)

const promptsMax = bound(
  'CHAT_PROMPTS_MAX',
  KEEPING.promptsMax,
  'prompts that are stored with their answers; beyond it, older ones are forgotten, and without such it is 503',
)

export const boundSettings = [answersPerAddress, promptsPerAddress, promptsMax]

/** Throws a `SettingError` that names the setting that is wrong. */
export function readAnswerLimits(line: CommandLine): AnswerLimits {
  return { ...ANSWER_LIMITS, perAddressMax: line.value(answersPerAddress) }
}

/** Throws a `SettingError` that names the setting that is wrong. */
export function readKeeping(line: CommandLine): Keeping {
  return { ...KEEPING, perAddressMax: line.value(promptsPerAddress), promptsMax: line.value(promptsMax) }
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
