/** @jsxImportSource hono/jsx */
import { createHmac } from 'node:crypto'
import { isIP } from 'node:net'
import { Login } from '../../login/login.ts'
import type { ProtectedPages } from '../../login/protected-pages.ts'
import { SHOWN_COMMAND } from '../../program/own-command.ts'
import { HttpError } from '../../server/errors.ts'
import { refuseOtherOrigins } from '../../server/own-pages.ts'
import { parsedPath, queryOf } from '../../server/request-target.ts'
import type { RequestScope } from '../../server/requests.ts'
import { notePage, STYLES_PATH } from './frame.tsx'
import type { PageServices } from './services.ts'

/** The name of the cookie that holds a session of the admin page. */
const COOKIE_NAME = 'stockroom-admin'

/** The headers that a proxy adds. */
const OF_PROXY = /^(x-forwarded-.*|forwarded|x-real-ip|via)$/

/** A page with its filters, or one of its elements. The path of deletions does not count: nobody can open it. */
const OWN_PAGE = /^\/admin\/(?!deletions)[\w/-]*([?#][!-~]*)?$/

/** The admin page, if its users have to log in. */
export const PROTECTED_PAGES: ProtectedPages = {
  loginPath: '/admin/login',
  logoutPath: '/admin/logout',
  isProtected: isAdminRoute,
  pageAt: path => (OWN_PAGE.test(path) ? path : '/admin/'),
  realm: 'admin page',
  title: 'Store admin',
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
    secret,
    cookieName: COOKIE_NAME,
    trustedProxies,
  })
}

const WITHOUT_KEYS = notePage(
  'Only from this machine',
  <>
    <p>
      This service asks nobody for a key (<code>AUTH=off</code>), so its admin page opens on the machine that it runs
      on, at an address such as <code>http://localhost:8000/admin/</code>, and nowhere else.
    </p>
    <p>To open it from here, make a key and let the service ask for keys:</p>
    <pre tabindex={0}>
      <code>{`${SHOWN_COMMAND} key create NAME --scope admin\nAUTH=keys ${SHOWN_COMMAND} serve`}</code>
    </pre>
  </>,
)

/** A request that is refused with a page of its own. */
export class EntryError extends HttpError {
  override name = 'EntryError'
  readonly page: string

  constructor(reason: string, page: string) {
    super(403, reason)
    this.page = page
  }
}

/**
 * Throws an `EntryError` for a request that a page of another origin has made, a link included. The page of a link leads on to where
 * the link leads.
 */
export function refuseOtherSites(request: Request): void {
  try {
    refuseOtherOrigins(request.headers)
  } catch (error) {
    throw error instanceof HttpError ? new EntryError(error.message, fromElsewhere(request)) : error
  }
}

function fromElsewhere({ method, url, headers }: Request): string {
  const page = PROTECTED_PAGES.pageAt(parsedPath(url) + queryOf(url))
  // Only once: the next request is nobody's click, even if it counts as one of another site again, as from a sandbox.
  const isClicked = method === 'GET' && headers.get('Sec-Fetch-User') === '?1'
  return notePage(
    'Open the admin page',
    <>
      <p>A link on another site has led here. To keep other sites from acting in your name, the last step is yours:</p>
      <p>
        <a class="button primary" href={page}>
          Open the admin page
        </a>
      </p>
    </>,
    isClicked ? <meta http-equiv="refresh" content={`0; url=${page}`} /> : undefined,
  )
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
    throw new EntryError('Without access keys, only this machine may open the admin page', WITHOUT_KEYS)
  }
}

function isLoopback(address: string): boolean {
  return isIP(address) !== 0 && (address === '::1' || address.startsWith('127.'))
}
