import type { Context } from 'hono'
import { deleteCookie, setCookie } from 'hono/cookie'
import { type CookieOptions, parse } from 'hono/utils/cookie'
import { isHttps } from '../../server/forwarded-protocol.ts'
import { SESSIONS_TRIED_MAX } from './limits.ts'

const NAME = 'stockroom-chat'

/**
 * The sessions that the browser sent. There may be several: a cookie of another path or of a parent domain can have the same
 * name, and a browser may send it first.
 */
export function sessionsIn(headers: Headers, trustedProxies: number): string[] {
  const name = isHttps(headers, trustedProxies) ? `__Host-${NAME}` : NAME
  const cookies = (headers.get('Cookie') ?? '').split(';')
  return cookies.flatMap(cookie => parse(cookie, name)[name] ?? []).slice(0, SESSIONS_TRIED_MAX)
}

interface CookieSettings {
  readonly trustedProxies: number
  readonly sessionSeconds: number
}

export function keepSession(
  context: Context,
  session: string,
  { trustedProxies, sessionSeconds }: CookieSettings,
): void {
  setCookie(context, NAME, session, { ...optionsFor(context, trustedProxies), maxAge: sessionSeconds })
}

export function forgetSession(context: Context, { trustedProxies }: CookieSettings): void {
  deleteCookie(context, NAME, optionsFor(context, trustedProxies))
}

/** Over https, the prefix keeps other hosts of the domain, and plain http, from setting the cookie. */
function optionsFor(context: Context, trustedProxies: number): CookieOptions {
  const options = { httpOnly: true, sameSite: 'Strict', path: '/' } as const
  const isSecure = isHttps(context.req.raw.headers, trustedProxies)
  return isSecure ? { ...options, secure: true, prefix: 'host' } : options
}
