import { isIPv4, isIPv6 } from 'node:net'
import type { Server } from 'bun'

/** Clients whose address is unknown, such as one that has already left, count as one. */
const UNKNOWN = 'unknown'

/** A provider gives a subscriber a /64 at least, so all its addresses are one client. */
const IPV6_NETWORK_GROUPS = 4

/**
 * The address of the client that sent the request: the socket's, or, behind proxies, the one that the outermost trusted
 * proxy saw. Each proxy appends to `X-Forwarded-For` the address it was called from, so entries are counted from the
 * right; a client can forge those further left.
 */
export function clientAddress(request: Request, server: Server<undefined>, trustedProxies: number): string {
  const forwarded = trustedProxies > 0 ? forwardedAddress(request.headers, trustedProxies) : null
  if (forwarded !== null) return forwarded
  const address = server.requestIP(request)?.address
  if (address === undefined) return UNKNOWN
  return address.includes(':') ? (plainAddress(address) ?? UNKNOWN) : address
}

/** Under what a client counts towards the bounds per client: its IPv4 address, or its IPv6 network of 64 bits. */
export function addressKey(address: string): string {
  if (!address.includes(':')) return address
  return `${ipv6Groups(address).slice(0, IPV6_NETWORK_GROUPS).join(':')}::/64`
}

/** Null when the header is missing, or its entry is no address: the socket's address counts then. */
function forwardedAddress(headers: Headers, trustedProxies: number): string | null {
  const entries = (headers.get('X-Forwarded-For') ?? '').split(',').filter(entry => entry.trim() !== '')
  // Fewer entries than proxies: the client called one of the inner proxies, which wrote the leftmost.
  const entry = entries[Math.max(0, entries.length - trustedProxies)]
  return entry === undefined ? null : plainAddress(withoutPort(entry.trim()))
}

/** Some proxies write the port, too: `203.0.113.7:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  return /^\[(.*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([^:]*):\d+$/.exec(entry)?.[1] ?? entry
}

/** An IPv4 address may be written as IPv6 (`::ffff:203.0.113.7`), as sockets that take both do. */
function plainAddress(text: string): string | null {
  const ipv4 = text.replace(/^::ffff:(?=[\d.]+$)/i, '')
  if (isIPv4(ipv4)) return ipv4
  return isIPv6(text) ? text.toLowerCase() : null
}

/** The eight groups of an IPv6 address, without leading zeros. */
function ipv6Groups(address: string): string[] {
  const [before = '', after] = address.replace(/%.*$/, '').split('::')
  const head = before === '' ? [] : before.split(':')
  // An IPv4 address at the end stands for two groups, which are not among the first four.
  const tail = after === undefined || after === '' ? [] : after.replace(/[\d.]+\.[\d.]+$/, '0:0').split(':')
  const zeros = after === undefined ? [] : Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0')
  return [...head, ...zeros, ...tail].map(group => group.replace(/^0+(?=.)/, ''))
}
