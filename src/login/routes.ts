import type { Context } from 'hono'
import { ClientLimitError } from '../limits/busy-error.ts'
import { readForm } from '../pages/form.ts'
import { UNCACHED_PAGE_HEADERS } from '../pages/layout.tsx'
import { showsPages } from '../server/accept.ts'
import { addressKey } from '../server/client-address.ts'
import { detailResponse } from '../server/errors.ts'
import { isHealthRoute } from '../server/rate-limit.ts'
import { NO_ROUTE, parsedPath, queryOf } from '../server/request-target.ts'
import type { App, RequestScope, ServedApp } from '../server/requests.ts'
import { type Login, NEEDED_SCOPE } from './login.ts'
import { loginPage, reloadingPage } from './login-page.tsx'
import type { ProtectedPages } from './protected-pages.ts'
import { forgetSession, keepSession } from './session-cookie.ts'

type LoginContext = Context<{ Bindings: RequestScope }>

const NOT_KEPT = 'Your browser has not kept the session. Allow cookies, and log in again.'

/** Finds the keys of requests for these pages, for the log and the bounds. */
export function identifying(login: Login, pages: ProtectedPages): NonNullable<ServedApp['identify']> {
  return route => (needsSession(pages, route) || route === pages.loginPath ? headers => login.keyOf(headers) : null)
}

/** Protects the pages, and adds the log-in page and the log-out. Call it after `formLimit` and before adding other routes. */
export function addLogin(app: App, login: Login, pages: ProtectedPages): void {
  const { loginPath, logoutPath, pageAt, keptForm } = pages
  const { credential } = login

  app.use(async (context, next) => {
    if (!needsSession(pages, context.req.path) || (await isAdmitted(context, login))) return next()
    return context.env.key === null ? refused(context, login, pages) : forbidden(pages)
  })

  app.get(loginPath, async context => {
    const next = pageAt(context.req.query('next') ?? '')
    if (await isAdmitted(context, login)) return redirect(context, next)
    if (context.req.header('Sec-Fetch-Site') === 'cross-site') {
      return context.html(reloadingPage(pages, next), 200, UNCACHED_PAGE_HEADERS)
    }
    const hasEnded = context.req.query('ended') !== undefined
    const notice = context.req.query('done') !== undefined ? NOT_KEPT : hasEnded ? pages.ended : null
    const page = loginPage(pages, { next, credential, ...(notice !== null && { notice }) })
    return context.html(page, 200, UNCACHED_PAGE_HEADERS)
  })

  app.post(loginPath, async context => {
    const address = addressKey(context.env.clientAddress)
    const form = await readForm(context.req.raw)
    const next = pageAt(form.text('next'))
    const typed = keptForm ? form.text(keptForm.field) : ''
    try {
      const session = await login.begin(form.text('password'), address)
      if (session === null) {
        const page = loginPage(pages, { next, credential, typed, refusal: wrongCredential(login) })
        return context.html(page, 401, { ...UNCACHED_PAGE_HEADERS, ...challenge(pages) })
      }
      keepSession(context, session, login.cookie)
      return keptForm && typed !== ''
        ? context.html(keptForm.page(typed), 200, UNCACHED_PAGE_HEADERS)
        : // Not to the next page, because this one can tell that the browser has not kept the session.
          redirect(context, loginAddress(pages, next, 'done&'))
    } catch (error) {
      if (!(error instanceof ClientLimitError)) throw error
      const seconds = error.retryAfterSeconds
      const refusal = `Too many wrong passwords have been sent. Try again in ${seconds} seconds.`
      const page = loginPage(pages, { next, credential, typed, refusal })
      return context.html(page, 429, { ...UNCACHED_PAGE_HEADERS, 'Retry-After': String(seconds) })
    }
  })

  app.post(logoutPath, context => {
    forgetSession(context, login.cookie)
    return redirect(context, loginPath)
  })
}

function needsSession({ loginPath, logoutPath, isProtected }: ProtectedPages, route: string): boolean {
  // On paths without a route, there is nothing to protect.
  const isOpen =
    isHealthRoute(route) || route.startsWith('/static/') || [loginPath, logoutPath, NO_ROUTE.route].includes(route)
  return !isOpen && isProtected(route)
}

function isAdmitted({ env, req }: LoginContext, login: Login): Promise<boolean> {
  return login.admits(req.raw.headers, env.key, addressKey(env.clientAddress))
}

/** Leads pages to the log-in page. A form that was sent in vain goes along. */
async function refused(context: LoginContext, { credential }: Login, pages: ProtectedPages): Promise<Response> {
  const { raw, path, method } = context.req
  const currentPage = context.req.header('HX-Current-URL') ?? ''
  if (context.req.header('HX-Request') === 'true') {
    return unauthorized(pages, { 'HX-Redirect': loginAddress(pages, pageOf(currentPage), 'ended&') })
  }
  if (!showsPages(raw.headers)) return unauthorized(pages)
  const next = pageOf(raw.url)
  if (method === 'GET') return redirect(context, loginAddress(pages, next))
  const { keptForm, ended } = pages
  if (path !== keptForm?.route) return redirect(context, loginAddress(pages, next, 'ended&'))
  const typed = (await readForm(context.req.raw)).text(keptForm.field)
  const page = loginPage(pages, { next: pages.pageAt(''), credential, typed, notice: ended })
  return context.html(page, 401, { ...UNCACHED_PAGE_HEADERS, ...challenge(pages) })
}

function redirect(context: LoginContext, path: string): Response {
  context.header('Cache-Control', 'no-store')
  return context.redirect(path, 303)
}

function pageOf(url: string): string {
  return parsedPath(url) + queryOf(url)
}

function loginAddress({ loginPath, pageAt }: ProtectedPages, path: string, query = ''): string {
  return `${loginPath}?${query}next=${encodeURIComponent(pageAt(path))}`
}

function wrongCredential({ credential }: Login): string {
  if (credential === 'password') return 'That is not the password.'
  const key = `an access key with the scope ${NEEDED_SCOPE}`
  return credential === 'access key' ? `That is not ${key}.` : `That is neither the password nor ${key}.`
}

function forbidden({ realm }: ProtectedPages): Response {
  const reason = `Bearer realm="${realm}", error="insufficient_scope", scope="${NEEDED_SCOPE}"`
  return detailResponse(403, 'Not enough permissions', { 'WWW-Authenticate': reason, 'Cache-Control': 'no-store' })
}

function unauthorized(pages: ProtectedPages, headers: Readonly<Record<string, string>> = {}): Response {
  return detailResponse(401, 'Log in first', { ...challenge(pages), 'Cache-Control': 'no-store', ...headers })
}

/** A 401 must name a scheme. Browsers do not know this one, so they show the page. */
function challenge({ realm }: ProtectedPages): Readonly<Record<string, string>> {
  return { 'WWW-Authenticate': `Bearer realm="${realm}"` }
}
