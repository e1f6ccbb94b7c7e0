import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { errorMessage } from './error-message.ts'
import { SettingError } from './operator-error.ts'

/** The process ID of the parent that this process must not outlive. */
export const LAUNCHER_VARIABLE = 'STOCKROOM_LAUNCHER'

/** One setting of a command: an environment variable, a flag, or both. The flag wins. */
export interface Setting<Value> {
  readonly variable?: string
  readonly flag: string
  /** Stands for the value in `--help`. Empty for a flag without a value, which is parsed as `on`. */
  readonly placeholder: string
  /** The default, as text to parse. */
  readonly fallback: string
  readonly meaning: string
  /** Throws a `SettingError` that tells the operator what to write instead. */
  readonly parse: (text: string) => Value
}

/** A whole number from `min` to `max`, in a variable and in the flag of the same name. */
export function count(
  variable: string,
  fallback: number,
  [min, max]: readonly [min: number, max: number],
  meaning: string,
): Setting<number> {
  const parse = (text: string) => wholeNumber(text, min, max)
  return { variable, flag: flagOf(variable), placeholder: 'N', fallback: String(fallback), meaning, parse }
}

/** A switch, in a variable and in the flag of the same name. */
export function onOff(variable: string, fallback: 'on' | 'off', meaning: string): Setting<boolean> {
  return { variable, flag: flagOf(variable), placeholder: 'on|off', fallback, meaning, parse: onOrOff }
}

/** Values separated by commas, in a variable and in the flag of the same name; none by default. */
export function list<Item>(
  variable: string,
  placeholder: string,
  item: (text: string) => Item,
  meaning: string,
): Setting<Item[]> {
  const parse = (text: string) =>
    text
      .split(',')
      .map(part => part.trim())
      .filter(part => part !== '')
      .map(item)
  return { variable, flag: flagOf(variable), placeholder, fallback: '', meaning, parse }
}

function flagOf(variable: string): string {
  return variable.replaceAll('_', '-').toLowerCase()
}

/** A count that has a flag but no variable. */
export function amount(flag: string, fallback: number, max: number, meaning: string): Setting<number> {
  return {
    flag,
    placeholder: 'N',
    fallback: String(fallback),
    meaning,
    parse: text => wholeNumber(text, 0, max),
  }
}

/** A value that has a flag but no variable; `null` if the flag is absent. */
export function optional<Value>(
  flag: string,
  placeholder: string,
  read: (text: string) => Value,
  meaning: string,
): Setting<Value | null> {
  return { flag, placeholder, fallback: '', meaning, parse: text => (text === '' ? null : read(text)) }
}

/** A flag without a value. */
export function toggle(flag: string, meaning: string): Setting<boolean> {
  return { flag, placeholder: '', fallback: '', meaning, parse: text => text === 'on' }
}

/** The capabilities of the terminal, if there is one. */
export interface TerminalCapabilities {
  readonly showsColor: boolean
  readonly movesCursor: boolean
}

/** Reads NO_COLOR (https://no-color.org) and TERM. */
export function terminalCapabilities(): TerminalCapabilities {
  const movesCursor = process.env.TERM !== 'dumb'
  return { movesCursor, showsColor: movesCursor && !process.env.NO_COLOR }
}

/** A parsed command line. */
export interface CommandLine {
  readonly operands: readonly string[]
  /**
   * Takes the value from the flag, else the variable, else the default. Throws a `SettingError` that names the setting. A setting
   * that the command does not have, so that its help does not name it, has its default.
   */
  readonly value: <Value>(setting: Setting<Value>) => Value
}

/**
 * Throws a `SettingError` for an unknown flag, a missing value, or an extra argument. The message does not repeat the
 * argument: it may be a database address with a password whose flag was forgotten.
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
  if (line.positionals.length > expected.length && !operands.endsWith('...')) {
    const accepted = expected.length === 0 ? 'only flags' : `one ${expected.join(' and one ')} besides flags`
    throw new SettingError(`unexpected argument; the command takes ${accepted}`)
  }
  const flagText = (given: string | boolean | undefined) => (typeof given === 'boolean' ? 'on' : given)
  return {
    operands: line.positionals,
    value: setting =>
      setting.flag in flags
        ? settingValue(setting, flagText(line.values[setting.flag]))
        : setting.parse(setting.fallback),
  }
}

/**
 * Reads a credential from the variable, or from the file that `<variable>_FILE` names; `null` if neither is set.
 * Credentials have no flags, because every user of the machine can read command lines. No error repeats one.
 */
export function credential(variable: string): string | null {
  return secret(variable, headerText)
}

/**
 * Like `credential`, for any text that `check` accepts. An empty secret is an error: it is more likely lost than not wanted, and
 * the server would be open to everybody.
 */
export function secret(variable: string, check: (text: string) => string): string | null {
  const fileVariable = `${variable}_FILE`
  const { [variable]: text = null, [fileVariable]: path = null } = process.env
  if (text !== null && path !== null) throw new SettingError(`${variable} and ${fileVariable} are both set; set one`)
  if (path !== null) return withSettingName(fileVariable, () => check(notEmpty(readText(notEmpty(path)))))
  return text === null ? null : withSettingName(variable, () => check(notEmpty(text)))
}

/**
 * The process ID of the launcher, supervisor, npx or `npm start` above this process: the program must not outlive it. `null` if
 * something else started the program: a shell, for example, may end while the program runs on.
 */
export function requiredParent(): number | null {
  const launcher = process.env[LAUNCHER_VARIABLE]
  if (launcher) return Number(launcher)
  const isBelowNpm = process.env.npm_lifecycle_event === 'npx' || process.env.npm_package_name === 'stockroom'
  return isBelowNpm ? process.ppid : null
}

/** The environment of this process, with more variables, for a process that it starts. */
export function environmentWith(more: Readonly<Record<string, string>>): Record<string, string | undefined> {
  return { ...process.env, ...more }
}

/** The value of a variable that has no flag; `null` if it is not set. */
export function fromEnvironment<Value>(variable: string, parse: (text: string) => Value): Value | null {
  const text = process.env[variable] || null
  return text === null ? null : withSettingName(variable, () => parse(text))
}

function notEmpty(text: string): string {
  if (text === '') throw new SettingError('it is empty; give it a value, or remove it')
  return text
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new SettingError(`cannot read the file: ${errorMessage(error)}`)
  }
}

/** Checked here because the runtime's own error about a bad header would repeat the credential. */
function headerText(text: string): string {
  if (!/^[\x21-\x7e]+$/.test(text)) throw new SettingError('a credential must be printable ASCII without spaces')
  return text
}

function parseLine(argv: readonly string[], options: Record<string, { type: 'string' | 'boolean' }>) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true })
  } catch (error) {
    const reason = errorMessage(error)
    const [, ambiguous] = /^Option '.*(--[^ ]+).*' argument is ambiguous/.exec(reason) ?? []
    if (ambiguous) {
      throw new SettingError(`${ambiguous}: a value is required; one that begins with - is written ${ambiguous}=VALUE`)
    }
    throw new SettingError(reason.split(/\. |\.?\n/)[0] ?? reason)
  }
}

function settingValue<Value>(setting: Setting<Value>, flagText: string | undefined): Value {
  const { variable, flag, fallback } = setting
  const name = flagText === undefined && variable ? variable : `--${flag}`
  // An empty variable counts as unset: compose files and unit files write it that way.
  const text = flagText ?? ((variable && process.env[variable]) || fallback)
  return withSettingName(name, () => {
    // For a flag that is off by default, an empty value is a mistake.
    if (flagText === '' && !variable && fallback === '') throw new SettingError('a value is required')
    return setting.parse(text)
  })
}

/** Runs `parse`, and puts the setting's name in front of its `SettingError`. */
export function withSettingName<Value>(name: string, parse: () => Value): Value {
  try {
    return parse()
  } catch (error) {
    if (error instanceof SettingError) throw new SettingError(`${name}: ${error.message}`)
    throw error
  }
}

function onOrOff(text: string): boolean {
  if (text !== 'on' && text !== 'off') throw new SettingError(`${JSON.stringify(text)} is not on or off`)
  return text === 'on'
}

export function oneOf<Name extends string>(names: readonly Name[], text: string): Name {
  const found = names.find(name => name === text)
  if (found === undefined) throw new SettingError(`${JSON.stringify(text)} is not one of ${names.join(', ')}`)
  return found
}

export function httpUrl(text: string): string {
  // The message does not repeat the value, which may contain a credential.
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) throw new SettingError('an http or https URL is required')
  return text
}

export function wholeNumber(text: string, min: number, max: number): number {
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max)) {
    throw new SettingError(`${JSON.stringify(text)} is not a whole number from ${min} to ${max}`)
  }
  return value
}
