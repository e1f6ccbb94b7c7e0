import type { Context } from 'hono'
import { BusyError } from '../limits/busy-error.ts'
import { countCodePoints } from '../limits/code-points.ts'
import { UNCACHED_PAGE_HEADERS } from '../pages/layout.tsx'
import { addressKey } from '../server/client-address.ts'
import { busyStatus, detailResponse } from '../server/errors.ts'
import { eventStream, type ServerSentEvent } from '../server/event-stream.ts'
import { refuseOtherOrigins } from '../server/own-pages.ts'
import type { App, RequestScope } from '../server/requests.ts'
import type { Answers, Asker } from './answers/answers.ts'
import type { Rendering } from './answers/rendered-answer.ts'
import type { ChatPages } from './page.tsx'
import { readSubmission } from './prompt-form.ts'
import type { PromptRefusal, Prompts } from './prompts/prompts.ts'
import { type Account, accountOf, type ReachedBound, type Spending, secondsUntil } from './spending/spending.ts'
import { answerEvents } from './stream.tsx'

/** In Unicode code points. */
const REQ_ID_MAX_CHARACTERS = 128

/** A page for a browser without scripts waits this long for the end of the answer, before it shows the text so far. */
const PLAIN_PAGE_WAIT_MS = 5_000

/** Such a page is loaded again after this time if too many answers are queued. */
const PLAIN_PAGE_RETRY_SECONDS = 5

const REFUSALS = {
  full: { status: 503, reason: 'The chat is full. Try again later.', retrySeconds: 60 },
  'too many of this address': {
    status: 429,
    reason: 'Too many messages have come from your network. Try again later.',
    retrySeconds: 3_600,
  },
} as const satisfies Record<PromptRefusal, unknown>

type ChatContext = Context<{ Bindings: RequestScope }>

export interface ChatServices {
  readonly prompts: Prompts
  readonly answers: Answers
  readonly spending: Spending
}

/** The specified endpoints, one that stops an answer, and the ones for pages that are opened again. */
export function addChatRoutes(chat: App, { prompts, answers, spending }: ChatServices, pages: ChatPages): void {
  chat.get('/', context => page(context, pages.welcome()))

  chat.post('/chat/:req_id', async context => {
    const reqId = reqIdOf(context)
    const { address, account } = askerOf(context)
    if (reqId === '')
      return page(context, pages.refusal('This address is too long or has an invalid character.', ''), 422)
    const submission = await readSubmission(context.req.raw)
    if ('reason' in submission) return page(context, pages.refusal(submission.reason, submission.typed), 422)
    const bound = await boundOn(reqId, account)
    if (bound) return page(context, pages.bounded(bound, submission.prompt), 429, retryAfter(secondsUntil(bound)))
    const posted = await prompts.post({ reqId, text: submission.prompt, address })
    if (typeof posted === 'string') {
      const { status, reason, retrySeconds } = REFUSALS[posted]
      // The form has the text, so that the user can send it again later.
      return page(context, pages.refusal(reason, submission.prompt), status, retryAfter(retrySeconds))
    }
    return page(context, pages.turn(reqId, posted.text, await renderedIfEnded(reqId)))
  })

  chat.get('/chatstream/:req_id', async context => {
    refuseOtherOrigins(context.req.raw.headers)
    const reqId = reqIdOf(context)
    if (context.env.isHead) {
      const isThere = (await answers.status(reqId)) !== null
      return isThere ? eventStream(context.env, noEvents) : promptNotFound()
    }
    const asker = askerOf(context)
    // Check this before the model is asked.
    context.env.streaming.clients.check(asker.address)
    const answer = await answers.join(reqId, asker)
    if (!answer) return promptNotFound()
    return eventStream(context.env, signal => answerEvents(answer, signal))
  })

  chat.post('/chat/:req_id/stop', async context => {
    const isThere = await answers.stop(reqIdOf(context))
    return isThere ? context.body(null, 204) : promptNotFound()
  })

  chat.get('/chat/:req_id', async context => turn(context, reqIdOf(context)))

  // For browsers without scripts, which cannot listen: waits for the end of the answer.
  chat.get('/chat/:req_id/answer', async context => {
    refuseOtherOrigins(context.req.raw.headers)
    const reqId = reqIdOf(context)
    if (context.env.isHead) return turn(context, reqId)
    const asker = askerOf(context)
    const prompt = await prompts.find(reqId)
    const bound = await boundOn(reqId, asker.account)
    if (prompt !== null && bound) {
      return page(context, pages.boundedTurn(reqId, prompt, bound), 429, retryAfter(secondsUntil(bound)))
    }
    const answer = await answers.join(reqId, asker).catch(busyOrThrow)
    if (!answer || prompt === null) return page(context, pages.unknownTurn(), 404)
    if (answer instanceof BusyError) {
      const html = pages.turn(reqId, prompt, null, PLAIN_PAGE_RETRY_SECONDS)
      return page(context, html, busyStatus(answer), retryAfter(answer.retryAfterSeconds))
    }
    for await (const _ of answer.listen(AbortSignal.timeout(PLAIN_PAGE_WAIT_MS)));
    return page(context, pages.turn(reqId, prompt, answer.newest))
  })

  chat.get('/chat/:req_id/status', async context => {
    const { account } = askerOf(context)
    const reqId = reqIdOf(context)
    const status = await answers.status(reqId)
    if (status === null) return promptNotFound()
    const bound = status === 'new' ? await spending.reached(account) : null
    const boundUntil = bound && { boundUntil: new Date(bound.endsAt).toISOString() }
    return context.json({ status, ...boundUntil }, 200, { 'Cache-Control': 'no-store' })
  })

  const turn = async (context: ChatContext, reqId: string): Promise<Response> => {
    const { account } = askerOf(context)
    const prompt = await prompts.find(reqId)
    if (prompt === null) return page(context, pages.unknownTurn(), 404)
    const rendering = await renderedIfEnded(reqId)
    const bound = rendering ? null : await boundOn(reqId, account)
    return page(context, bound ? pages.boundedTurn(reqId, prompt, bound) : pages.turn(reqId, prompt, rendering))
  }

  /** The bound that keeps this answer from beginning. */
  const boundOn = async (reqId: string, account: Account): Promise<ReachedBound | null> => {
    const bound = await spending.reached(account)
    return bound && [null, 'new'].includes(await answers.status(reqId)) ? bound : null
  }

  const renderedIfEnded = async (reqId: string): Promise<Rendering | null> =>
    (await answers.ended(reqId))?.newest ?? null
}

/** Call it before the first `await`, while the client is still connected. */
function askerOf({ env }: ChatContext): Asker {
  const address = addressKey(env.clientAddress)
  return { address, account: accountOf(address, env.key?.name ?? null), trace: env.trace }
}

function page(
  context: Context,
  html: string,
  status: 200 | 404 | 422 | 429 | 503 = 200,
  headers: Readonly<Record<string, string>> = {},
): Response | Promise<Response> {
  // A page from a cache, for example after going back, would send its next prompt under an id that is already used.
  return context.html(html, status, { ...UNCACHED_PAGE_HEADERS, ...headers })
}

function retryAfter(seconds: number): Readonly<Record<string, string>> {
  return { 'Retry-After': String(seconds) }
}

/** The page can show that the server is busy, and try again. */
function busyOrThrow(error: unknown): BusyError {
  if (error instanceof BusyError) return error
  throw error
}

/** For HEAD requests. */
async function* noEvents(): AsyncGenerator<ServerSentEvent> {}

/** The turn's id. Empty, which no turn has, if it is too long or contains U+0000, which PostgreSQL cannot store. */
function reqIdOf(context: Context): string {
  const reqId = context.req.param('req_id') ?? ''
  return countCodePoints(reqId) > REQ_ID_MAX_CHARACTERS || reqId.includes('\0') ? '' : reqId
}

function promptNotFound(): Response {
  return detailResponse(404, 'Prompt not found')
}
