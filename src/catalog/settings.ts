import { auth } from '../access/settings.ts'
import { type CommandLine, onOrOff, type Setting, wholeNumber } from '../config.ts'
import { SettingError } from '../operator-error.ts'
import { port } from '../server/settings.ts'

const MANY_BYTES = 1_099_511_627_776

export const servePort = port(8000)

/** Size limit of the cache; see `cache/cached.ts`. */
export const cacheBytes: Setting<number> = {
  variable: 'CACHE_BYTES',
  flag: 'cache-bytes',
  placeholder: 'N',
  fallback: '67108864',
  meaning: 'memory for cached responses, in bytes; 0 switches the cache off',
  parse: text => wholeNumber(text, 0, MANY_BYTES),
}

/** Size limit of the kept answers; see `idempotency/room.ts`. */
export const idempotencyBytes: Setting<number> = {
  variable: 'IDEMPOTENCY_BYTES',
  flag: 'idempotency-bytes',
  placeholder: 'N',
  fallback: '1073741824',
  meaning:
    'space in the database for the answers to requests with an Idempotency-Key, which it keeps for a day, in bytes',
  parse: text => wholeNumber(text, 1, MANY_BYTES),
}

export const publicReads: Setting<boolean> = {
  variable: 'PUBLIC_READS',
  flag: 'public-reads',
  placeholder: 'on|off',
  fallback: 'off',
  meaning: 'with --auth keys: anyone may read categories, products and reviews without a key',
  parse: onOrOff,
}

/** `null` if anyone may do anything. Throws a `SettingError`. */
export function readAccess(line: CommandLine): { readonly publicReads: boolean } | null {
  const areReadsPublic = line.value(publicReads)
  if (line.value(auth) === 'keys') return { publicReads: areReadsPublic }
  // Otherwise operators might believe that only reads are public.
  if (areReadsPublic)
    throw new SettingError(`${publicReads.variable}: on requires AUTH=keys; without it, writes are public too`)
  return null
}

export const corsOrigins: Setting<string[]> = {
  variable: 'CORS_ORIGINS',
  flag: 'cors-origins',
  placeholder: 'ORIGINS',
  fallback: '',
  meaning: 'web origins whose pages may call the service, separated by commas; * for any; none by default',
  parse: text =>
    text
      .split(',')
      .map(origin => origin.trim())
      .filter(origin => origin !== '')
      .map(webOrigin),
}

function webOrigin(text: string): string {
  if (text === '*') return text
  const origin = URL.canParse(text) ? new URL(text).origin : 'null'
  if (origin === 'null' || origin !== text) {
    throw new SettingError('a web origin is a scheme, a host and perhaps a port, for example https://shop.example')
  }
  return text
}
