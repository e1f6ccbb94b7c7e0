import type { Context } from 'hono'
import { ClientLimitError } from '../../limits/busy-error.ts'
import { PAGE_HEADERS } from '../../pages/layout.tsx'
import { addressKey } from '../../server/client-address.ts'
import { detailResponse } from '../../server/errors.ts'
import { NO_ROUTE, parsedPath } from '../../server/request-target.ts'
import type { App, RequestScope, ServedApp } from '../../server/requests.ts'
import type { ChatPages } from '../page.tsx'
import { formLimit, readForm } from '../prompt-form.ts'
import type { Lock } from './lock.ts'
import { loginPage, reloadingPage } from './login-page.tsx'
import { ownPage } from './own-page.ts'
import { forgetSession, keepSession } from './session-cookie.ts'

type ChatContext = Context<{ Bindings: RequestScope }>

const LOGIN = '/login'

/** Routes that need no session, besides the static files. On paths without a route, there is nothing to protect. */
const OPEN = new Set([LOGIN, '/logout', '/healthz', '/health', '/readyz', NO_ROUTE.route])

const HEADERS = { ...PAGE_HEADERS, 'Cache-Control': 'no-store' }

/** A 401 must name a scheme. Browsers do not know this one, so they show the page. */
const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="chat"' }

const ENDED = 'Your session has ended. Log in again. Your message is kept.'

/** The message for a wrong password or key. */
const WRONG: Readonly<Record<Lock['credential'], string>> = {
  password: 'That is not the password.',
  'access key': 'That is not an access key with the scope write.',
  'password or access key': 'That is neither the password nor an access key with the scope write.',
}

/** Finds the keys of requests, for the log and the bounds. */
export function identifying(lock: Lock): NonNullable<ServedApp['identify']> {
  return route => (isOpen(route) && route !== LOGIN ? null : headers => lock.keyOf(headers))
}

/** Protects all routes, except for the log-in page and what it needs. Call it before adding others. */
export function addLock(chat: App, lock: Lock, pages: ChatPages): void {
  const { credential } = lock

  chat.use(async (context, next) => {
    if (isOpen(context.req.path) || (await isAdmitted(context, lock))) return next()
    return context.env.key === null ? refused(context, lock) : forbidden()
  })

  chat.get(LOGIN, async context => {
    const next = ownPage(context.req.query('next') ?? '')
    if (await isAdmitted(context, lock)) return redirect(context, next)
    if (context.req.header('Sec-Fetch-Site') === 'cross-site') return context.html(reloadingPage(next), 200, HEADERS)
    const hasEnded = context.req.query('ended') !== undefined
    return context.html(loginPage({ next, credential, ...(hasEnded && { notice: ENDED }) }), 200, HEADERS)
  })

  chat.post(LOGIN, formLimit, async context => {
    const address = addressKey(context.env.clientAddress)
    const form = await readForm(context.req.raw)
    const next = ownPage(form.text('next'))
    const typed = form.text('user_prompt')
    try {
      const session = await lock.open(form.text('password'), address)
      if (session === null) {
        return context.html(loginPage({ next, credential, typed, refusal: WRONG[credential] }), 401, {
          ...HEADERS,
          ...CHALLENGE,
        })
      }
      keepSession(context, session, lock)
      return typed === '' ? redirect(context, next) : context.html(pages.draft(typed), 200, HEADERS)
    } catch (error) {
      if (!(error instanceof ClientLimitError)) throw error
      const seconds = error.retryAfterSeconds
      const refusal = `Too many wrong passwords have been sent. Try again in ${seconds} seconds.`
      return context.html(loginPage({ next, credential, typed, refusal }), 429, {
        ...HEADERS,
        'Retry-After': String(seconds),
      })
    }
  })

  chat.post('/logout', context => {
    forgetSession(context, lock)
    return redirect(context, LOGIN)
  })
}

function isOpen(route: string): boolean {
  return OPEN.has(route) || route.startsWith('/static/')
}

function isAdmitted({ env, req }: ChatContext, lock: Lock): Promise<boolean> {
  return lock.admits(req.raw.headers, env.key, addressKey(env.clientAddress))
}

/** Leads pages to the log-in page. A prompt that was sent in vain goes along. */
async function refused(context: ChatContext, lock: Lock): Promise<Response> {
  const { raw, path, method } = context.req
  const currentPage = context.req.header('HX-Current-URL') ?? ''
  if (context.req.header('HX-Request') === 'true') {
    return unauthorized({ 'HX-Redirect': loginPath(parsedPath(currentPage), 'ended&') })
  }
  if (!context.req.header('Accept')?.includes('text/html')) return unauthorized()
  const next = ownPage(parsedPath(raw.url))
  if (method === 'GET') return redirect(context, loginPath(next))
  if (path !== '/chat/:req_id') return redirect(context, loginPath(next, 'ended&'))
  const showForm = async () => {
    const typed = (await readForm(context.req.raw)).text('user_prompt')
    context.res = await context.html(loginPage({ next: '/', credential: lock.credential, typed, notice: ENDED }), 401, {
      ...HEADERS,
      ...CHALLENGE,
    })
  }
  return (await formLimit(context, showForm)) ?? context.res
}

function redirect(context: ChatContext, path: string): Response {
  context.header('Cache-Control', 'no-store')
  return context.redirect(path, 303)
}

function loginPath(path: string, query = ''): string {
  return `${LOGIN}?${query}next=${encodeURIComponent(ownPage(path))}`
}

function forbidden(): Response {
  const challenge = 'Bearer realm="chat", error="insufficient_scope", scope="write"'
  return detailResponse(403, 'Not enough permissions', { 'WWW-Authenticate': challenge, 'Cache-Control': 'no-store' })
}

function unauthorized(headers: Readonly<Record<string, string>> = {}): Response {
  return detailResponse(401, 'Log in first', { ...CHALLENGE, 'Cache-Control': 'no-store', ...headers })
}
