import { isIP } from 'node:net'
import { accessLog, type CommandLine, host, logLevel, type Setting, wholeNumber } from '../config.ts'
import { SettingError } from '../operator-error.ts'

const TRUSTED_PROXIES_MAX = 100

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

/** The settings of every server, beside its port. */
export const serverSettings = [allowedHosts, trustedProxies, accessLog, logLevel]

/** How a server listens, and how it treats its clients. */
export interface ServerSettings {
  readonly host: string
  readonly port: number
  readonly accessLog: boolean
  readonly allowedHosts: readonly string[]
  readonly trustedProxies: number
}

/** Throws a `SettingError` that names the setting that is wrong. */
export function readServerSettings(line: CommandLine, port: Setting<number>): ServerSettings {
  return {
    host: line.value(host),
    port: line.value(port),
    accessLog: line.value(accessLog),
    allowedHosts: line.value(allowedHosts),
    trustedProxies: line.value(trustedProxies),
  }
}

function hostName(text: string): string {
  if (!isIP(text) && !/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(text)) {
    throw new SettingError('a host name has no scheme, no port and no wildcard, for example shop.example')
  }
  return text
}
