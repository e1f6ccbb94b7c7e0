import { HttpError } from './errors.ts'

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

/**
 * Throws a 403 for a cross-site request from a browser. Other clients send none of these headers and pass.
 *
 * Browsers send `Sec-Fetch-Site` (W3C Fetch Metadata) only over https and to loopback, so `Origin` is checked as well. If a
 * proxy rewrites `Host`, `Origin` never matches it, so `Sec-Fetch-Site: same-origin` is enough by itself. A plain GET over
 * http, such as an image, has neither header; then `Referer` is checked, unless the other page suppresses it.
 */
export function refuseOtherOrigins(headers: Headers): void {
  const site = headers.get('Sec-Fetch-Site')
  if (site === 'same-origin') return
  const origin = headers.get('Origin') ?? (site === null ? headers.get('Referer') : null)
  // `none` means that the user started the request, for example by typing the address.
  const isOwn = (site === null || site === 'none') && (origin === null || isOriginOf(origin, headers.get('Host')))
  if (!isOwn) throw new HttpError(403, 'Pages of other origins cannot do this')
}

/** Compares host and port of an origin or URL. The scheme may differ, because a proxy may have terminated TLS. */
function isOriginOf(origin: string, host: string | null): boolean {
  // Sandboxed pages and local files send the origin `null`, which cannot be parsed.
  if (host === null || !URL.canParse(origin)) return false
  const { protocol, host: originHost } = new URL(origin)
  const defaultPort = DEFAULT_PORTS[protocol]
  if (defaultPort === undefined) return false
  return originHost === host.toLowerCase().replace(new RegExp(`:${defaultPort}$`), '')
}
