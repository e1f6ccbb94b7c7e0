import { HttpError } from './errors.ts'

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

/**
 * Throws a 403 for a request that a page of another origin makes in the name of its reader. Clients that are no browsers
 * send none of the headers and pass.
 *
 * `Sec-Fetch-Site` (W3C Fetch Metadata) comes over https and from loopback alone, so `Origin` is checked, too. A proxy
 * that rewrites `Host` makes `Origin` useless, so `same-origin` is enough by itself. A plain GET over http has neither, as
 * that of an image; `Referer` tells of it, unless the other page keeps it back.
 */
export function refuseOtherOrigins(headers: Headers): void {
  const site = headers.get('Sec-Fetch-Site')
  if (site === 'same-origin') return
  const origin = headers.get('Origin') ?? (site === null ? headers.get('Referer') : null)
  // `none` is the user's own doing, such as a typed address.
  const isOwn = (site === null || site === 'none') && (origin === null || isOriginOf(origin, headers.get('Host')))
  if (!isOwn) throw new HttpError(403, 'Pages of other origins cannot do this')
}

/** Whether the origin, or an address at it, has this host and port. The scheme is not compared: a proxy may have ended TLS. */
function isOriginOf(origin: string, host: string | null): boolean {
  // `null`, too, which sandboxed and local pages send.
  if (host === null || !URL.canParse(origin)) return false
  const { protocol, host: originHost } = new URL(origin)
  const defaultPort = DEFAULT_PORTS[protocol]
  if (defaultPort === undefined) return false
  return originHost === host.toLowerCase().replace(new RegExp(`:${defaultPort}$`), '')
}
