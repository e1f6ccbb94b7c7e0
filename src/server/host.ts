import { HttpError } from './errors.ts'
import { isIP, isIPv6 } from './ip-address.ts'

const PORT_MAX = 65_535

/** A name (RFC 3986) or an address in brackets. No comma, because the runtime joins several `Host` headers with one. */
const HOST = /^(?<name>[\w.~!$&'()*+;=%-]+|\[(?<ipv6>[^\]]*)\])(?::(?<port>\d{0,5}))?$/

/**
 * Makes a check that throws an `HttpError` 400 for a malformed or repeated `Host` header (RFC 9112, 3.2), and 421 for a
 * host that is not allowed. A missing or empty header passes, because routing does not use it.
 *
 * The list prevents DNS rebinding, in which a page points its own name at this machine. IP addresses and `localhost` cannot
 * be rebound, so they always pass. An empty list allows every host.
 */
export function hostCheck(allowedHosts: readonly string[]): (host: string | null) => void {
  // Nearly all requests have the same host.
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

/** `null` if the header is malformed. */
function hostName(host: string): string | null {
  const { name = '', ipv6, port = '' } = HOST.exec(host)?.groups ?? {}
  if (name === '' || Number(port) > PORT_MAX) return null
  if (ipv6 !== undefined) return isIPv6(ipv6) ? ipv6 : null
  return name.toLowerCase().replace(/\.$/, '')
}
