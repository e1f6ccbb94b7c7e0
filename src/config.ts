import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { errorMessage } from './error-message.ts'
import { SettingError } from './operator-error.ts'

/** One setting of a command: an environment variable, a flag, or both. The flag wins. */
export interface Setting<Value> {
  readonly variable?: string
  readonly flag: string
  /** What stands for the value in `--help`; empty for a flag without a value, which is parsed as `on`. */
  readonly placeholder: string
  /** Text that is parsed when neither the variable nor the flag is given. */
  readonly fallback: string
  readonly meaning: string
  /** Throws a `SettingError` that says what would be right. */
  readonly parse: (text: string) => Value
}

/** A number of things, given by a flag alone. */
export function amount(flag: string, fallback: number, max: number, meaning: string): Setting<number> {
  return {
    flag,
    placeholder: 'N',
    fallback: String(fallback),
    meaning,
    parse: text => wholeNumber(text, 0, max),
  }
}

/** The same, where giving none is something else than giving any. */
export function optionalAmount(flag: string, max: number, meaning: string): Setting<number | null> {
  return {
    flag,
    placeholder: 'N',
    fallback: '',
    meaning,
    parse: text => (text === '' ? null : wholeNumber(text, 1, max)),
  }
}

/** Any text, given by a flag alone. */
export function optionalText(flag: string, placeholder: string, meaning: string): Setting<string | null> {
  return { flag, placeholder, fallback: '', meaning, parse: text => (text === '' ? null : text) }
}

/** A flag without a value. */
export function toggle(flag: string, meaning: string): Setting<boolean> {
  return { flag, placeholder: '', fallback: '', meaning, parse: text => text === 'on' }
}

/** What the environment says of the terminal: NO_COLOR (https://no-color.org), and TERM. */
export function terminalAbilities(): { readonly showsColor: boolean; readonly movesCursor: boolean } {
  const movesCursor = process.env.TERM !== 'dumb'
  return { movesCursor, showsColor: movesCursor && !process.env.NO_COLOR }
}

/** A command's line, read: its operands, and the value of each of its settings. */
export interface CommandLine {
  readonly operands: readonly string[]
  /** The setting's value from its flag, else its variable, else its fallback. Throws a `SettingError` that names it. */
  readonly value: <Value>(setting: Setting<Value>) => Value
}

/**
 * Throws a `SettingError` for a flag that the command does not have, one without its value, or a word that is none of its
 * `operands`. That is not repeated: it may be an address with a password, whose flag was forgotten.
 */
export function readCommandLine(
  argv: readonly string[],
  settings: readonly Setting<unknown>[],
  operands = '',
): CommandLine {
  const flags: Record<string, { type: 'string' | 'boolean' }> = {}
  for (const { flag, placeholder } of settings) flags[flag] = { type: placeholder === '' ? 'boolean' : 'string' }
  const line = parseLine(argv, flags)
  const expected = operands === '' ? [] : operands.split(' ')
  if (line.positionals.length > expected.length) {
    const taken = expected.length === 0 ? 'flags alone' : `one ${expected.join(' and one ')} beside its flags`
    throw new SettingError(`unexpected: it takes ${taken}`)
  }
  const flagText = (given: string | boolean | undefined) => (typeof given === 'boolean' ? 'on' : given)
  return { operands: line.positionals, value: setting => settingValue(setting, flagText(line.values[setting.flag])) }
}

/**
 * A credential, from the environment alone, since anybody on the machine can read a command line: from the variable, or
 * from the file that `<variable>_FILE` names. Null when neither is set. No error repeats it.
 */
export function credential(variable: string): string | null {
  return secret(variable, headerText)
}

/** As `credential`, for text of any form that `check` accepts. */
export function secret(variable: string, check: (text: string) => string): string | null {
  const text = process.env[variable] || null
  const path = process.env[`${variable}_FILE`] || null
  if (text !== null && path !== null) throw new SettingError(`${variable} and ${variable}_FILE: set one of the two`)
  if (path !== null) return named(`${variable}_FILE`, () => check(readText(path)))
  return text === null ? null : named(variable, () => check(text))
}

/**
 * The process without which this one has no reason to go on: the launcher's, npx's, or that of `npm start`. Null where the
 * program was started by something else, such as a shell, which may well end before it.
 */
export function indispensableParent(): number | null {
  const launcher = process.env.STOCKROOM_LAUNCHER
  if (launcher) return Number(launcher)
  const isBelowNpm = process.env.npm_lifecycle_event === 'npx' || process.env.npm_package_name === 'stockroom'
  return isBelowNpm ? process.ppid : null
}

/** The value of a variable that has no flag; `null` when it is not set. */
export function fromEnvironment<Value>(variable: string, parse: (text: string) => Value): Value | null {
  const text = process.env[variable] || null
  return text === null ? null : named(variable, () => parse(text))
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new SettingError(`cannot read the file: ${errorMessage(error)}`)
  }
}

/** Checked here, since a runtime's own error about a header repeats it. */
function headerText(text: string): string {
  if (!/^[\x21-\x7e]+$/.test(text)) throw new SettingError('a credential is printable ASCII without blanks')
  return text
}

function parseLine(argv: readonly string[], options: Record<string, { type: 'string' | 'boolean' }>) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true })
  } catch (error) {
    const reason = errorMessage(error)
    throw new SettingError(reason.split(/\. |\.?\n/)[0] ?? reason)
  }
}

function settingValue<Value>(setting: Setting<Value>, flagText: string | undefined): Value {
  const variableText = setting.variable ? process.env[setting.variable] : undefined
  const [name, text] =
    flagText !== undefined
      ? [`--${setting.flag}`, flagText]
      : // An empty variable is an unset one, as in most compose files and unit files.
        [setting.variable ?? `--${setting.flag}`, variableText || setting.fallback]
  return named(name, () => {
    // Where nothing given means something, giving nothing is a mistake.
    if (flagText === '' && !setting.variable && setting.fallback === '') throw new SettingError('a value is needed')
    return setting.parse(text)
  })
}

/** A `SettingError` of `parse`, with the name of the setting in front. */
export function named<Value>(name: string, parse: () => Value): Value {
  try {
    return parse()
  } catch (error) {
    if (error instanceof SettingError) throw new SettingError(`${name}: ${error.message}`)
    throw error
  }
}

export function wholeNumber(text: string, min: number, max: number): number {
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max)) {
    throw new SettingError(`${JSON.stringify(text)} is no whole number from ${min} to ${max}`)
  }
  return value
}
