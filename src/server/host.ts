import { isIP, isIPv6 } from 'node:net'
import { HttpError } from './errors.ts'

const PORT_MAX = 65_535

/** A name of RFC 3986, without the comma by which the runtime joins several `Host` lines, or an address in brackets. */
const HOST = /^(?<name>[\w.~!$&'()*+;=%-]+|\[(?<ipv6>[^\]]*)\])(?::(?<port>\d{0,5}))?$/

/**
 * A check that throws an `HttpError` for a `Host` header that is malformed or comes twice (400, RFC 9112, 3.2), or that names
 * a host for which this server does not answer (421). No header, or an empty one, is fine: nothing is routed by it.
 *
 * The list of hosts is against DNS rebinding, where a page's own name comes to mean this machine. Addresses and `localhost`
 * cannot be rebound and always pass. An empty list allows every host.
 */
export function hostCheck(allowedHosts: readonly string[]): (host: string | null) => void {
  // Nearly all requests name the same host.
  let lastGood: string | null = null
  return host => {
    if (host === lastGood || !host) return
    const name = hostName(host)
    if (name === null) throw new HttpError(400, 'The Host header is malformed, or there are several')
    if (allowedHosts.length > 0 && !isIP(name) && name !== 'localhost' && !allowedHosts.includes(name)) {
      throw new HttpError(421, 'This server does not answer for that host')
    }
    lastGood = host
  }
}

/** Null when the header is malformed. */
function hostName(host: string): string | null {
  const { name = '', ipv6, port = '' } = HOST.exec(host)?.groups ?? {}
  if (name === '' || Number(port) > PORT_MAX) return null
  if (ipv6 !== undefined) return isIPv6(ipv6) ? ipv6 : null
  return name.toLowerCase().replace(/\.$/, '')
}
