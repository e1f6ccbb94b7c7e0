import type { Fetch } from '../../src/server/requests.ts'
import type { ServerSettings } from '../../src/server/settings.ts'

/** Settings for a server inside a test: a free loopback port. */
export const LOOPBACK: ServerSettings = {
  host: '127.0.0.1',
  port: 0,
  allowedHosts: [],
  trustedProxies: 0,
  connectionsMax: 10_000,
  streamsPerAddress: 256,
  rateLimit: null,
}

/** An app with one route, whose handler needs no framework. */
export function atRoot(fetch: Fetch) {
  return { fetch, routes: [{ path: '/' }] }
}
