/**
 * Whether the client's connection is encrypted, as the outermost trusted proxy says in `X-Forwarded-Proto`. This server itself
 * speaks plain HTTP. Most proxies replace the header; if they append to it, entries count from the right, as those of
 * `X-Forwarded-For` do.
 */
export function isHttps(headers: Headers, trustedProxies: number): boolean {
  if (trustedProxies === 0) return false
  const entries = (headers.get('X-Forwarded-Proto') ?? '').split(',')
  return entries[Math.max(0, entries.length - trustedProxies)]?.trim().toLowerCase() === 'https'
}
