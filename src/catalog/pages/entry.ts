import { createHmac } from 'node:crypto'
import { isIP } from 'node:net'
import { Login } from '../../login/login.ts'
import type { ProtectedPages } from '../../login/protected-pages.ts'
import { HttpError } from '../../server/errors.ts'
import { refuseOtherOrigins } from '../../server/own-pages.ts'
import type { RequestScope } from '../../server/requests.ts'
import { STYLES_PATH } from './frame.tsx'
import type { PageServices } from './services.ts'

/** The name of the cookie that holds a session of the admin page. */
const COOKIE_NAME = 'stockroom-admin'

/** The headers that a proxy adds. */
const OF_PROXY = /^(x-forwarded-.*|forwarded|x-real-ip|via)$/

const OWN_PAGE = /^\/admin\/[\w/-]*$/

/** The admin page, if its users have to log in. */
export const PROTECTED_PAGES: ProtectedPages = {
  loginPath: '/admin/login',
  logoutPath: '/admin/logout',
  isProtected: isAdminRoute,
  pageAt: path => (OWN_PAGE.test(path) ? path : '/admin/'),
  realm: 'admin page',
  title: 'Store admin',
  link: 'To the admin page',
  heading: 'Log in to the store',
  ended: 'Your session has ended. Log in again.',
  stylesheet: STYLES_PATH,
  keptForm: null,
}

export function isAdminRoute(route: string): boolean {
  return route === '/admin' || route.startsWith('/admin/')
}

/** The log-in with keys that may write; `null` if there are no keys. */
export function loginOf({ catalog: { access }, repositories, trustedProxies }: PageServices): Login | null {
  if (!access) return null
  // Of the secret that the database has already, so that sessions need no table of their own.
  const secret = async () =>
    createHmac('sha256', await repositories.keys.secret())
      .update('admin sessions')
      .digest()
  return new Login({
    password: null,
    keys: access.keys,
    scope: 'write',
    secrets: { secret },
    cookieName: COOKIE_NAME,
    trustedProxies,
  })
}

/** A request that gets a page with the reason. */
export class EntryError extends HttpError {
  override name = 'EntryError'
  readonly kind: 'other origin' | 'other machine'

  constructor(kind: EntryError['kind'], reason: string) {
    super(403, reason)
    this.kind = kind
  }
}

/** Throws an `EntryError` for a request that a page of another origin has made, a link included. */
export function refuseOtherSites(headers: Headers): void {
  try {
    refuseOtherOrigins(headers)
  } catch (error) {
    throw error instanceof HttpError ? new EntryError('other origin', error.message) : error
  }
}

/**
 * Throws an `EntryError` unless the request comes from this machine and names it as its host, so that no page can reach it by a
 * name of its own that leads here. A proxy passes on requests of others.
 */
export function refuseOtherMachines({ request: { headers }, clientAddress }: RequestScope): void {
  const isPassedOn = [...headers.keys()].some(name => OF_PROXY.test(name))
  const host = (headers.get('Host') ?? '').replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1')
  const isOwnHost = host.toLowerCase() === 'localhost' || isLoopback(host)
  if (isPassedOn || !isOwnHost || !isLoopback(clientAddress)) {
    throw new EntryError('other machine', 'Without access keys, only this machine may open the admin page')
  }
}

function isLoopback(address: string): boolean {
  return isIP(address) !== 0 && (address === '::1' || address.startsWith('127.'))
}
