import { accessLog, type CommandLine, host, logLevel, type Setting, wholeNumber } from '../config.ts'

const TRUSTED_PROXIES_MAX = 100

const trustedProxies: Setting<number> = {
  variable: 'TRUSTED_PROXIES',
  flag: 'trusted-proxies',
  placeholder: 'N',
  fallback: '0',
  meaning: "proxies in front: the client's address is the Nth from the right of X-Forwarded-For; 0 takes the socket's",
  parse: text => wholeNumber(text, 0, TRUSTED_PROXIES_MAX),
}

/** The settings of every server, beside its port. */
export const serverSettings = [trustedProxies, accessLog, logLevel]

/** How a server listens, and how it treats its clients. */
export interface ServerSettings {
  readonly host: string
  readonly port: number
  readonly accessLog: boolean
  readonly trustedProxies: number
}

/** Throws a `SettingError` that names the setting that is wrong. */
export function readServerSettings(line: CommandLine, port: Setting<number>): ServerSettings {
  return {
    host: line.value(host),
    port: line.value(port),
    accessLog: line.value(accessLog),
    trustedProxies: line.value(trustedProxies),
  }
}
