import type { ServerSettings } from '../src/server/settings.ts'

/** For a server inside a test: a free port of this machine, and no access log. */
export const LOOPBACK: ServerSettings = {
  host: '127.0.0.1',
  port: 0,
  accessLog: false,
  trustedProxies: 0,
}
