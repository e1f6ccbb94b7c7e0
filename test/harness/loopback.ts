import { networkInterfaces } from 'node:os'
import type { Fetch } from '../../src/server/requests.ts'
import type { ServerSettings } from '../../src/server/settings.ts'
import './no-proxy.ts'

/** Settings for a server inside a test: a free loopback port. */
export const LOOPBACK: ServerSettings = {
  host: '127.0.0.1',
  port: 0,
  allowedHosts: [],
  trustedProxies: 0,
  connectionsMax: 10_000,
  streamsPerAddress: 256,
  rateLimit: null,
  accessLog: false,
  logLevel: 'info',
}

/** A container often has no loopback address of IPv6. */
export const HAS_IPV6 = Object.values(networkInterfaces()).some(addresses =>
  addresses?.some(({ address }) => address === '::1'),
)

/** An app with one route, whose handler needs no framework. */
export function atRoot(fetch: Fetch) {
  return { fetch, routes: [{ path: '/' }] }
}
