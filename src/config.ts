import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type PostgresAddress, postgresAddress } from './database/postgres/address.ts'
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

interface SqliteAddress {
  readonly engine: 'sqlite'
  readonly path: string
}

export type DatabaseAddress = SqliteAddress | PostgresAddress

/** Who runs the model. `compatible` is any server that speaks the OpenAI chat-completions protocol. */
const MODEL_PROVIDERS = ['openai', 'anthropic', 'google', 'compatible'] as const
export type ModelProvider = (typeof MODEL_PROVIDERS)[number]

export interface ModelChoice {
  readonly provider: ModelProvider
  /** The model's name, as its provider spells it. */
  readonly model: string
}

const LOG_LEVELS = ['debug', 'info', 'warning', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const PORT_MAX = 65_535
const CONNECTIONS_MAX = 1_000

export const database: Setting<DatabaseAddress> = {
  variable: 'DATABASE_URL',
  flag: 'database',
  placeholder: 'URL',
  fallback: 'sqlite:data/stockroom.db',
  meaning: 'the database: sqlite:PATH, a file that is made when it is not there, or postgres://…',
  parse: databaseAddress,
}

/** Streaming replicas of the PostgreSQL database at `DATABASE_URL`. */
export const databaseReplicas: Setting<PostgresAddress[]> = {
  variable: 'DATABASE_REPLICA_URLS',
  flag: 'database-replicas',
  placeholder: 'URLS',
  fallback: '',
  meaning: 'PostgreSQL: streaming replicas that answer reads, with commas between; none by default',
  parse: text =>
    text
      .split(',')
      .map(url => url.trim())
      .filter(url => url !== '')
      .map(url => {
        const address = databaseAddress(url)
        if (address.engine !== 'postgres') throw new SettingError('a replica is at postgres://…')
        return address
      }),
}

export const databaseConnections: Setting<number> = {
  variable: 'DATABASE_CONNECTIONS',
  flag: 'database-connections',
  placeholder: 'N',
  fallback: '4',
  meaning: 'PostgreSQL: connections of this process to each server; each carries many statements at once',
  parse: text => wholeNumber(text, 1, CONNECTIONS_MAX),
}

export const host: Setting<string> = {
  variable: 'HOST',
  flag: 'host',
  placeholder: 'HOST',
  fallback: '0.0.0.0',
  meaning: 'the address to listen on',
  parse: text => {
    if (text.trim() === '') throw new SettingError('an address is needed, for example 127.0.0.1')
    return text
  },
}

export function port(fallback: number): Setting<number> {
  return {
    variable: 'PORT',
    flag: 'port',
    placeholder: 'PORT',
    fallback: String(fallback),
    meaning: 'the port to listen on; 0 takes a free one',
    parse: text => wholeNumber(text, 0, PORT_MAX),
  }
}

export const corsOrigins: Setting<string[]> = {
  variable: 'CORS_ORIGINS',
  flag: 'cors-origins',
  placeholder: 'ORIGINS',
  fallback: '',
  meaning: 'web origins whose pages may call the service, with commas between; * for any; none by default',
  parse: text =>
    text
      .split(',')
      .map(origin => origin.trim())
      .filter(origin => origin !== '')
      .map(webOrigin),
}

export const accessLog: Setting<boolean> = {
  variable: 'ACCESS_LOG',
  flag: 'access-log',
  placeholder: 'on|off',
  fallback: 'on',
  meaning: 'one line on standard error for each request',
  parse: text => {
    if (text !== 'on' && text !== 'off') throw new SettingError(`${JSON.stringify(text)} is neither on nor off`)
    return text === 'on'
  },
}

export const logLevel: Setting<LogLevel> = {
  variable: 'LOG_LEVEL',
  flag: 'log-level',
  placeholder: 'LEVEL',
  fallback: 'info',
  meaning: `the least level that is logged: ${LOG_LEVELS.join(', ')}`,
  parse: text => {
    const level = LOG_LEVELS.find(name => name === text)
    if (!level) throw new SettingError(`${JSON.stringify(text)} is none of ${LOG_LEVELS.join(', ')}`)
    return level
  },
}

/** The model that answers; null is the offline demo model. */
export const chatModel: Setting<ModelChoice | null> = {
  variable: 'CHAT_MODEL',
  flag: 'model',
  placeholder: 'PROVIDER:MODEL',
  fallback: '',
  meaning: `the model that answers, of ${MODEL_PROVIDERS.join(', ')}; an offline demo model by default`,
  parse: text => (text === '' ? null : modelChoice(text)),
}

export const chatBaseUrl: Setting<string | null> = {
  variable: 'CHAT_BASE_URL',
  flag: 'base-url',
  placeholder: 'URL',
  fallback: '',
  meaning: 'where the server of a compatible: model is, for example http://localhost:11434/v1',
  parse: text => (text === '' ? null : webAddress(text)),
}

/** The list service of the breeds; null for the list that ships with the app. */
export const breedsUrl: Setting<string | null> = {
  variable: 'BREEDS_URL',
  flag: 'breeds-url',
  placeholder: 'URL',
  fallback: '',
  meaning: "the list service, a JSON object whose message object's keys are the names; the app's own list by default",
  parse: text => {
    if (text === '') return null
    // Not repeated: it may hold a credential.
    if (!/^https?:\/\//.test(text) || !URL.canParse(text)) throw new SettingError('that is no address of http or https')
    return text
  },
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

/** An address among the operands of a command, which calls it `name`. */
export function databaseOperand(name: string, text: string): DatabaseAddress {
  return named(name, () => databaseAddress(text))
}

/**
 * A credential, from the environment alone, since anybody on the machine can read a command line: from the variable, or
 * from the file that `<variable>_FILE` names. Null when neither is set. No error repeats it.
 */
export function credential(variable: string): string | null {
  return secret(variable, headerText)
}

function secret(variable: string, check: (text: string) => string): string | null {
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

/** A web address under a name that a provider's clients know, without a flag of ours. Null when it is not set. */
export function providerAddress(variable: string): string | null {
  const text = process.env[variable] || null
  return text === null ? null : named(variable, () => webAddress(text))
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new SettingError(`cannot read the file: ${error instanceof Error ? error.message : String(error)}`)
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
    const reason = error instanceof Error ? error.message : String(error)
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

/** What `parse` says is wrong is said of the setting with that name. */
function named<Value>(name: string, parse: () => Value): Value {
  try {
    return parse()
  } catch (error) {
    if (error instanceof SettingError) throw new SettingError(`${name}: ${error.message}`)
    throw error
  }
}

function databaseAddress(text: string): DatabaseAddress {
  const [scheme, ...rest] = text.split(':')
  const path = rest.join(':')
  if (scheme === 'postgres' || scheme === 'postgresql') {
    return postgresAddress(
      text,
      secret('DATABASE_PASSWORD', password => password),
    )
  }
  if (scheme !== 'sqlite' || rest.length === 0) {
    throw new SettingError('unknown kind of database; use sqlite:PATH or postgres://user:password@host:5432/database')
  }
  if (path === '' || path.startsWith(':')) {
    throw new SettingError('the path of a file is needed after sqlite:, for example sqlite:data/stockroom.db')
  }
  return { engine: 'sqlite', path: path.startsWith('//') ? path.slice(2) : path }
}

function modelChoice(text: string): ModelChoice {
  const [scheme = '', ...rest] = text.split(':')
  const provider = MODEL_PROVIDERS.find(name => name === scheme)
  if (!provider) {
    // Not repeated: it may be a credential in the wrong variable.
    throw new SettingError(`write PROVIDER:MODEL; the providers are ${MODEL_PROVIDERS.join(', ')}`)
  }
  const model = rest.join(':').trim()
  if (model === '') throw new SettingError(`a model's name is needed after ${provider}:, as its provider spells it`)
  return { provider, model }
}

/** The address of a web interface, to which paths are added. It may hold a password, so no error repeats it. */
function webAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new SettingError('that is no web address; write it as http://localhost:11434/v1')
  }
  if (url.username !== '' || url.password !== '') {
    throw new SettingError('an address holds no user and no password; the credential has a variable of its own')
  }
  if (url.search !== '' || url.hash !== '') throw new SettingError('an address to add paths to has no ? and no #')
  return url.href.replace(/\/+$/, '')
}

function webOrigin(text: string): string {
  if (text === '*') return text
  const origin = URL.canParse(text) ? new URL(text).origin : 'null'
  if (origin === 'null' || origin !== text) {
    throw new SettingError('a web origin is a scheme, a host and perhaps a port, for example https://shop.example')
  }
  return text
}

export function wholeNumber(text: string, min: number, max: number): number {
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max)) {
    throw new SettingError(`${JSON.stringify(text)} is no whole number from ${min} to ${max}`)
  }
  return value
}
