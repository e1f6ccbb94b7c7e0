import { availableParallelism } from 'node:os'
import { type CommandLine, count, list, oneOf, onOff, type Setting, wholeNumber } from '../program/config.ts'
import { SettingError } from '../program/operator-error.ts'
import { isIP } from './ip-address.ts'
import type { RateLimit } from './rate-limit.ts'

export const PORT_MAX = 65_535
const TRUSTED_PROXIES_MAX = 100
const MANY = 1_000_000
const WORKERS_MAX = 256

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, min: 60, h: 3_600 }

/** The most verbose first. */
const LOG_LEVELS = ['debug', 'info', 'warning', 'error'] as const

/** The runtime takes `*` for all addresses, but nobody can open that; names beyond ASCII have to be encoded. */
const NAME = /^[\w.-]+$/

export const host: Setting<string> = {
  variable: 'HOST',
  flag: 'host',
  placeholder: 'HOST',
  fallback: '0.0.0.0',
  meaning: 'the address to listen on',
  parse: listeningAddress,
}

export function port(fallback: number): Setting<number> {
  return {
    variable: 'PORT',
    flag: 'port',
    placeholder: 'PORT',
    fallback: String(fallback),
    meaning: 'the port to listen on; 0 picks a free one',
    parse: text => wholeNumber(text, 0, PORT_MAX),
  }
}

/** The number of processes that serve one port. */
export const workers: Setting<number> = {
  variable: 'WORKERS',
  flag: 'workers',
  placeholder: 'N|auto',
  fallback: '1',
  meaning: 'processes that serve the port together; auto: one per core (Linux)',
  parse: text => {
    const canShare = process.platform === 'linux'
    if (text === 'auto') return canShare ? Math.min(availableParallelism(), WORKERS_MAX) : 1
    const count = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0
    if (count < 1 || count > WORKERS_MAX) {
      throw new SettingError(`${JSON.stringify(text)} is not auto or a whole number from 1 to ${WORKERS_MAX}`)
    }
    if (count > 1 && !canShare) {
      throw new SettingError('only Linux spreads connections over several processes; use 1 here')
    }
    return count
  },
}

export const workerTimeout: Setting<number> = count(
  'WORKER_TIMEOUT',
  10,
  [1, 3_600],
  'seconds after which a worker that does not answer is replaced',
)

const accessLog = onOff('ACCESS_LOG', 'on', 'log one line per request to standard error')

const logLevel: Setting<(typeof LOG_LEVELS)[number]> = {
  variable: 'LOG_LEVEL',
  flag: 'log-level',
  placeholder: 'LEVEL',
  fallback: 'info',
  meaning: `the lowest level to log: ${LOG_LEVELS.join(', ')}`,
  parse: text => oneOf(LOG_LEVELS, text),
}

const trustedProxies = count(
  'TRUSTED_PROXIES',
  0,
  [0, TRUSTED_PROXIES_MAX],
  'proxies in front of the server: the client address is the Nth from the right in X-Forwarded-For; 0 uses the socket address',
)

const allowedHosts = list(
  'ALLOWED_HOSTS',
  'NAMES',
  hostName,
  'host names to answer for, separated by commas (prevents DNS rebinding); any by default',
)

const connectionsMax = count(
  'CONNECTIONS_MAX',
  10_000,
  [1, MANY],
  'maximum number of connections; the limit on open files may allow fewer',
)

const streamsPerAddress = count(
  'STREAMS_PER_ADDRESS',
  256,
  [1, MANY],
  'maximum number of event streams per client address',
)

const rateLimit: Setting<RateLimit | null> = {
  variable: 'RATE_LIMIT',
  flag: 'rate-limit',
  placeholder: 'N/UNIT',
  fallback: 'off',
  meaning:
    'requests per access key or client address: 100/s, 6000/min or 50000/h, for example; beyond it, requests get 429',
  parse: text => {
    if (text === 'off') return null
    const [, requests = '', unit = ''] = /^([1-9][0-9]{0,8})\/(s|min|h)$/.exec(text) ?? []
    const seconds = UNIT_SECONDS[unit]
    if (seconds === undefined) {
      throw new SettingError(`${JSON.stringify(text)} is not off or a rate such as 100/s, 6000/min or 50000/h`)
    }
    return { requests: Number(requests), seconds }
  },
}

/** The settings of every server, except its host and port. */
export const serverSettings = [
  allowedHosts,
  trustedProxies,
  connectionsMax,
  streamsPerAddress,
  rateLimit,
  accessLog,
  logLevel,
]

export type ServerSettings = ReturnType<typeof readServerSettings>

/** Throws a `SettingError` that names the wrong setting. */
export function readServerSettings(line: CommandLine, port: Setting<number>) {
  return {
    host: line.value(host),
    port: line.value(port),
    allowedHosts: line.value(allowedHosts),
    trustedProxies: line.value(trustedProxies),
    connectionsMax: line.value(connectionsMax),
    streamsPerAddress: line.value(streamsPerAddress),
    rateLimit: line.value(rateLimit),
    accessLog: line.value(accessLog),
    logLevel: line.value(logLevel),
  }
}

/** Reads an address to listen on. */
function listeningAddress(text: string): string {
  // As in a URL.
  const address = text.replace(/^\[(.*)\]$/, '$1')
  if (address === '') throw new SettingError('an address is required, for example 127.0.0.1')
  if (!NAME.test(address) && !isIP(address)) {
    throw new SettingError(
      `${JSON.stringify(text)} is neither an address, for example 127.0.0.1, nor the name of a host`,
    )
  }
  return address
}

/** Reads a host name, in lower case. */
export function hostName(text: string): string {
  const name = text.toLowerCase()
  if (!isIP(name) && !/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name)) {
    throw new SettingError('a host name must have no scheme, port or wildcard, for example shop.example')
  }
  return name
}
