import type { Context } from 'hono'
import { ClientLimitError } from '../../busy-error.ts'
import { PAGE_HEADERS } from '../../pages/layout.tsx'
import { addressKey } from '../../server/client-address.ts'
import { detailResponse } from '../../server/errors.ts'
import { parsedPath } from '../../server/request-target.ts'
import type { App, RequestScope } from '../../server/requests.ts'
import type { ChatPages } from '../page.tsx'
import { formLimit, readForm } from '../prompt-form.ts'
import type { Lock } from './lock.ts'
import { loginPage, reloadingPage } from './login-page.tsx'
import { ownPage } from './own-page.ts'
import { forgetSession, keepSession, sessionOf } from './session-cookie.ts'

type ChatContext = Context<{ Bindings: RequestScope }>

/** Routes that need no session, besides the static files. */
const OPEN = new Set(['/login', '/logout', '/healthz', '/health', '/readyz'])

const HEADERS = { ...PAGE_HEADERS, 'Cache-Control': 'no-store' }

/** A 401 must name a scheme. Browsers do not know this one, so they show the page. */
const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="chat"' }

const ENDED = 'Your session has ended. Log in again. Your message is kept.'
const WRONG = 'That is not the password.'

/** Protects all routes, except for the log-in page and what it needs. Call it before adding others. */
export function addLock(chat: App, lock: Lock, pages: ChatPages): void {
  chat.use(async (context, next) => {
    const { path } = context.req
    if (OPEN.has(path) || path.startsWith('/static/') || (await isAdmitted(context, lock))) return next()
    return refused(context)
  })

  chat.get('/login', async context => {
    const next = ownPage(context.req.query('next') ?? '')
    if (await isAdmitted(context, lock)) return redirect(context, next)
    if (context.req.header('Sec-Fetch-Site') === 'cross-site') return context.html(reloadingPage(next), 200, HEADERS)
    const hasEnded = context.req.query('ended') !== undefined
    return context.html(loginPage({ next, ...(hasEnded && { notice: ENDED }) }), 200, HEADERS)
  })

  chat.post('/login', formLimit, async context => {
    const address = addressKey(context.env.clientAddress)
    const form = await readForm(context.req.raw)
    const next = ownPage(form.text('next'))
    const typed = form.text('user_prompt')
    try {
      const session = await lock.open(form.text('password'), address)
      if (session === null) {
        return context.html(loginPage({ next, typed, refusal: WRONG }), 401, { ...HEADERS, ...CHALLENGE })
      }
      keepSession(context, lock, session)
      return typed === '' ? redirect(context, next) : context.html(pages.draft(typed), 200, HEADERS)
    } catch (error) {
      if (!(error instanceof ClientLimitError)) throw error
      const seconds = error.retryAfterSeconds
      const refusal = `Too many wrong passwords have come from your network. Try again in ${seconds} seconds.`
      return context.html(loginPage({ next, typed, refusal }), 429, { ...HEADERS, 'Retry-After': String(seconds) })
    }
  })

  chat.post('/logout', context => {
    forgetSession(context, lock)
    return redirect(context, '/login')
  })
}

/** Programs send the password as a bearer token, browsers a session. */
async function isAdmitted(context: ChatContext, lock: Lock): Promise<boolean> {
  const [, token] = /^bearer +(.+)$/i.exec(context.req.header('Authorization') ?? '') ?? []
  if (token !== undefined) return lock.accepts(token, addressKey(context.env.clientAddress))
  return lock.knows(sessionOf(context, lock))
}

/** Leads pages to the log-in page. A prompt that was sent in vain goes along. */
async function refused(context: ChatContext): Promise<Response> {
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
    context.res = await context.html(loginPage({ next: '/', typed, notice: ENDED }), 401, { ...HEADERS, ...CHALLENGE })
  }
  return (await formLimit(context, showForm)) ?? context.res
}

function redirect(context: ChatContext, path: string): Response {
  context.header('Cache-Control', 'no-store')
  return context.redirect(path, 303)
}

function loginPath(path: string, query = ''): string {
  return `/login?${query}next=${encodeURIComponent(ownPage(path))}`
}

function unauthorized(headers: Readonly<Record<string, string>> = {}): Response {
  return detailResponse(401, 'Log in first', { ...CHALLENGE, 'Cache-Control': 'no-store', ...headers })
}
