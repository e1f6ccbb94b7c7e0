import { type CommandLine, list, type Setting, wholeNumber } from '../program/config.ts'
import type { OperatorOptions } from '../server/listen.ts'
import { host, hostName, PORT_MAX } from '../server/settings.ts'

const adminPort: Setting<number | null> = {
  variable: 'ADMIN_PORT',
  flag: 'admin-port',
  placeholder: 'PORT',
  fallback: '',
  meaning: 'a second port, for operators: /metrics, /status, /healthz and /readyz; 0 picks a free one; none by default',
  parse: text => (text === '' ? null : wholeNumber(text, 0, PORT_MAX)),
}

const adminHost: Setting<string> = {
  ...host,
  variable: 'ADMIN_HOST',
  flag: 'admin-host',
  fallback: '127.0.0.1',
  meaning: 'the address for that port; anyone who can reach it can read the metrics',
}

const adminAllowedHosts = list(
  'ADMIN_ALLOWED_HOSTS',
  'NAMES',
  hostName,
  'host names to answer for on that port, besides IP addresses and localhost, separated by commas',
)

export const adminSettings = [adminPort, adminHost, adminAllowedHosts]

export type AdminSettings = Omit<OperatorOptions, 'app'>

/** `null` without a port for operators. Throws a `SettingError` that names the wrong setting. */
export function readAdminSettings(line: CommandLine): AdminSettings | null {
  const port = line.value(adminPort)
  const host = line.value(adminHost)
  // A list that is not empty, because an empty one allows every host. The host that it listens on may be a name.
  const allowedHosts = ['localhost', host.toLowerCase(), ...line.value(adminAllowedHosts)]
  return port === null ? null : { host, port, allowedHosts }
}
