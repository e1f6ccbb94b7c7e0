import { type CommandLine, type Setting, wholeNumber } from '../config.ts'
import { port } from '../server/settings.ts'
import { ANSWER_LIMITS, type AnswerLimits } from './answers/limits.ts'

const PER_ADDRESS_MAX = 1_000_000

export const chatPort = port(6543)

const answersPerAddress: Setting<number> = {
  variable: 'CHAT_ANSWERS_PER_ADDRESS',
  flag: 'answers-per-address',
  placeholder: 'N',
  fallback: String(ANSWER_LIMITS.perAddressMax),
  meaning: 'answers under way for clients at one address, those that wait for the model included; more is 429',
  parse: text => wholeNumber(text, 1, PER_ADDRESS_MAX),
}

export const boundSettings = [answersPerAddress]

/** Throws a `SettingError` that names the setting that is wrong. */
export function readAnswerLimits(line: CommandLine): AnswerLimits {
  return { ...ANSWER_LIMITS, perAddressMax: line.value(answersPerAddress) }
}
