import { type Setting, wholeNumber } from '../config.ts'
import { SettingError } from '../operator-error.ts'
import { port } from '../server/settings.ts'

const CACHE_MAX_BYTES = 1_099_511_627_776

export const servePort = port(8000)

/** Size limit of the cache; see `cache/cached.ts`. */
export const cacheBytes: Setting<number> = {
  variable: 'CACHE_BYTES',
  flag: 'cache-bytes',
  placeholder: 'N',
  fallback: '67108864',
  meaning: 'memory for cached responses, in bytes; 0 switches the cache off',
  parse: text => wholeNumber(text, 0, CACHE_MAX_BYTES),
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
