import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import type { CookieOptions } from 'hono/utils/cookie'
import { isHttps } from '../../server/forwarded-protocol.ts'
import type { Lock } from './lock.ts'

const NAME = 'stockroom-chat'

/** The session that the browser sent; an empty text if there is none. */
export function sessionOf(context: Context, lock: Lock): string {
  const cookie = isSecure(context, lock) ? getCookie(context, NAME, 'host') : getCookie(context, NAME)
  return cookie ?? ''
}

export function keepSession(context: Context, lock: Lock, session: string): void {
  setCookie(context, NAME, session, { ...optionsFor(context, lock), maxAge: lock.sessionSeconds })
}

export function forgetSession(context: Context, lock: Lock): void {
  deleteCookie(context, NAME, optionsFor(context, lock))
}

/** Over https, the prefix keeps other hosts of the domain, and plain http, from setting the cookie. */
function optionsFor(context: Context, lock: Lock): CookieOptions {
  const options = { httpOnly: true, sameSite: 'Strict', path: '/' } as const
  return isSecure(context, lock) ? { ...options, secure: true, prefix: 'host' } : options
}

function isSecure(context: Context, { trustedProxies }: Lock): boolean {
  return isHttps(context.req.raw.headers, trustedProxies)
}
