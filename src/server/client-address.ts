import type { Server } from 'bun'
import { remembering } from '../limits/remembering.ts'
import { isIPv4, isIPv6 } from './ip-address.ts'

/** Stands for every client whose address is unknown, for example because it has disconnected. */
const UNKNOWN = 'unknown'

/** Providers assign each subscriber at least a /64, so a whole /64 counts as one client. */
const IPV6_NETWORK_GROUPS = 4

const REMEMBERED = { max: 4_096, charactersMax: 64 }

export type ClientAddress = (request: Request, server: Server<undefined>) => string

/**
 * Makes the function that tells a client's address: the address of the socket or, behind proxies, the one that the outermost
 * trusted proxy saw. Each proxy appends its caller's address to `X-Forwarded-For`, so entries count from the right; a client
 * can forge the others.
 */
export function clientAddressBehind(trustedProxies: number): ClientAddress {
  const forwardedAddress = remembering(text => addressIn(text, trustedProxies), REMEMBERED)
  const ofSocket = remembering(address => plainAddress(address) ?? UNKNOWN, REMEMBERED)
  return (request, server) => {
    const forwarded = trustedProxies > 0 ? request.headers.get('X-Forwarded-For') : null
    const address = forwarded === null ? null : forwardedAddress(forwarded)
    if (address !== null) return address
    const socket = server.requestIP(request)?.address
    if (socket === undefined) return UNKNOWN
    return socket.includes(':') ? ofSocket(socket) : socket
  }
}

/** The key for limits per address: the IPv4 address, or the /64 network of an IPv6 address. */
export function addressKey(address: string): string {
  return address.includes(':') ? networkOf(address) : address
}

const networkOf = remembering(
  address => `${ipv6Groups(address).slice(0, IPV6_NETWORK_GROUPS).join(':')}::/64`,
  REMEMBERED,
)

/** `null` if the entry is missing or is not an address; then the socket's address counts. */
function addressIn(forwarded: string, trustedProxies: number): string | null {
  const entries = forwarded.split(',').filter(entry => entry.trim() !== '')
  // With fewer entries than proxies, the client has called an inner proxy, which wrote the leftmost entry.
  const entry = entries[Math.max(0, entries.length - trustedProxies)]
  return entry === undefined ? null : plainAddress(withoutPort(entry.trim()))
}

/** Some proxies append the port: `203.0.113.7:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  return /^\[(.*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([^:]*):\d+$/.exec(entry)?.[1] ?? entry
}

/** Dual-stack sockets write IPv4 addresses as IPv6: `::ffff:203.0.113.7`. */
function plainAddress(text: string): string | null {
  const ipv4 = text.replace(/^::ffff:(?=[\d.]+$)/i, '')
  if (isIPv4(ipv4)) return ipv4
  return isIPv6(text) ? text.toLowerCase() : null
}

/** The eight groups of an IPv6 address, without leading zeros. */
function ipv6Groups(address: string): string[] {
  const [before = '', after] = address.split('::')
  const head = before === '' ? [] : before.split(':')
  const tail = after === undefined || after === '' ? [] : after.split(':')
  const zeros = after === undefined ? [] : Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0')
  return [...head, ...zeros, ...tail].map(group => group.replace(/^0+(?=.)/, ''))
}
