import { isIP } from 'node:net'
import { type CommandLine, type Setting, wholeNumber } from '../config.ts'
import { LOG_LEVELS, type LogLevel } from '../log.ts'
import { SettingError } from '../operator-error.ts'

const PORT_MAX = 65_535
const TRUSTED_PROXIES_MAX = 100
const MANY = 1_000_000

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

const accessLog: Setting<boolean> = {
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

const trustedProxies: Setting<number> = {
  variable: 'TRUSTED_PROXIES',
  flag: 'trusted-proxies',
  placeholder: 'N',
  fallback: '0',
  meaning: "proxies in front: the client's address is the Nth from the right of X-Forwarded-For; 0 takes the socket's",
  parse: text => wholeNumber(text, 0, TRUSTED_PROXIES_MAX),
}

const allowedHosts: Setting<string[]> = {
  variable: 'ALLOWED_HOSTS',
  flag: 'allowed-hosts',
  placeholder: 'NAMES',
  fallback: '',
  meaning: 'host names to answer for, with commas between, against DNS rebinding; any by default',
  parse: text =>
    text
      .split(',')
      .map(name => name.trim().toLowerCase())
      .filter(name => name !== '')
      .map(hostName),
}

const connectionsMax: Setting<number> = {
  variable: 'CONNECTIONS_MAX',
  flag: 'connections-max',
  placeholder: 'N',
  fallback: '10000',
  meaning: 'connections at once; the limit of open files may allow fewer',
  parse: text => wholeNumber(text, 1, MANY),
}

const streamsPerAddress: Setting<number> = {
  variable: 'STREAMS_PER_ADDRESS',
  flag: 'streams-per-address',
  placeholder: 'N',
  fallback: '256',
  meaning: 'event streams of one client address at once',
  parse: text => wholeNumber(text, 1, MANY),
}

/** The settings of every server, beside its port. */
export const serverSettings = [allowedHosts, trustedProxies, connectionsMax, accessLog, logLevel]

/** Those of a server that has event streams. */
export const streamSettings = [streamsPerAddress]

/** How a server listens, and how it treats its clients. */
export interface ServerSettings {
  readonly host: string
  readonly port: number
  readonly accessLog: boolean
  readonly allowedHosts: readonly string[]
  readonly trustedProxies: number
  readonly connectionsMax: number
  readonly streamsPerAddress: number
}

/** Throws a `SettingError` that names the setting that is wrong. */
export function readServerSettings(line: CommandLine, port: Setting<number>): ServerSettings {
  return {
    host: line.value(host),
    port: line.value(port),
    accessLog: line.value(accessLog),
    allowedHosts: line.value(allowedHosts),
    trustedProxies: line.value(trustedProxies),
    connectionsMax: line.value(connectionsMax),
    streamsPerAddress: line.value(streamsPerAddress),
  }
}

function hostName(text: string): string {
  if (!isIP(text) && !/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(text)) {
    throw new SettingError('a host name has no scheme, no port and no wildcard, for example shop.example')
  }
  return text
}
