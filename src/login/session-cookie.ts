import type { Context } from 'hono'
import { deleteCookie, setCookie } from 'hono/cookie'
import { type CookieOptions, parse } from 'hono/utils/cookie'
import { isHttps } from '../server/forwarded-protocol.ts'

/** Limit on the session cookies of one request that are tried. */
const SESSIONS_TRIED_MAX = 8

/** The cookie that holds a session. */
export interface SessionCookie {
  /** Over https, `__Host-` precedes it. */
  readonly name: string
  /** Until the browser forgets it. */
  readonly seconds: number
  /** The number of entries of `X-Forwarded-Proto` to trust. */
  readonly trustedProxies: number
}

/**
 * The sessions that the browser sent. There may be several: a cookie of another path or of a parent domain can have the same
 * name, and a browser may send it first.
 */
export function sessionsIn(headers: Headers, cookie: SessionCookie): string[] {
  const name = isHttps(headers, cookie.trustedProxies) ? `__Host-${cookie.name}` : cookie.name
  const cookies = (headers.get('Cookie') ?? '').split(';')
  return cookies.flatMap(sent => parse(sent, name)[name] ?? []).slice(0, SESSIONS_TRIED_MAX)
}

export function keepSession(context: Context, session: string, cookie: SessionCookie): void {
  setCookie(context, cookie.name, session, { ...optionsFor(context, cookie), maxAge: cookie.seconds })
}

export function forgetSession(context: Context, cookie: SessionCookie): void {
  deleteCookie(context, cookie.name, optionsFor(context, cookie))
}

/** Over https, the prefix keeps other hosts of the domain, and plain http, from setting the cookie. */
function optionsFor(context: Context, { trustedProxies }: SessionCookie): CookieOptions {
  const options = { httpOnly: true, sameSite: 'Strict', path: '/' } as const
  const isSecure = isHttps(context.req.raw.headers, trustedProxies)
  return isSecure ? { ...options, secure: true, prefix: 'host' } : options
}
