import type { Context } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { BusyError } from '../busy-error.ts'
import { PAGE_HEADERS } from '../pages/layout.tsx'
import { addressKey } from '../server/client-address.ts'
import { refuseEncodedBody } from '../server/encoded-body.ts'
import { busyStatus, detailResponse } from '../server/errors.ts'
import { eventStream, type ServerSentEvent } from '../server/event-stream.ts'
import { refuseOtherOrigins } from '../server/own-pages.ts'
import type { App } from '../server/requests.ts'
import type { Answers } from './answers/answers.ts'
import type { Rendering } from './answers/rendered-answer.ts'
import { refusalPage, turnPage, unknownTurnPage, welcomePage } from './page.tsx'
import { readSubmission } from './prompt-form.ts'
import type { Prompts, Refusal } from './prompts/prompts.ts'
import { answerEvents } from './stream.tsx'

const FORM_MAX_BYTES = 1_048_576

/** In UTF-16 code units. */
const REQ_ID_MAX_CHARACTERS = 128

/** How long a page for a browser without scripts waits for the end of the answer, before it shows the text so far. */
const PLAIN_PAGE_WAIT_MS = 5_000

/** When such a page is loaded again if too many answers are queued. */
const PLAIN_PAGE_RETRY_SECONDS = 5

/** A page from a cache, for example after going back, would send its next prompt under an id that is already used. */
const HEADERS = { ...PAGE_HEADERS, 'Cache-Control': 'no-store' }

const REFUSALS = {
  full: { status: 503, reason: 'The chat is full. Try again later.', retrySeconds: 60 },
  'too many of this address': {
    status: 429,
    reason: 'Too many messages have come from your network. Try again later.',
    retrySeconds: 3_600,
  },
} as const satisfies Record<Refusal, unknown>

/** The specified endpoints, one to stop an answer, and those for pages that are opened again. */
export function addChatRoutes(chat: App, prompts: Prompts, answers: Answers): void {
  chat.get('/', context => page(context, welcomePage()))

  chat.post(
    '/chat/:req_id',
    bodyLimit({ maxSize: FORM_MAX_BYTES, onError: () => detailResponse(413, 'The form is too large') }),
    async context => {
      const reqId = reqIdOf(context)
      const address = addressKey(context.env.clientAddress)
      if (reqId === '')
        return page(context, refusalPage('This address is too long or has an invalid character.', ''), 422)
      refuseEncodedBody(context.req.raw.headers)
      const submission = await readSubmission(context.req.raw)
      if ('reason' in submission) return page(context, refusalPage(submission.reason, submission.typed), 422)
      const posted = await prompts.post({ reqId, text: submission.prompt, address })
      if (typeof posted === 'string') return refused(context, posted, submission.prompt)
      return page(context, turnPage(reqId, posted.text, await renderedIfEnded(reqId)))
    },
  )

  chat.get('/chatstream/:req_id', async context => {
    refuseOtherOrigins(context.req.raw.headers)
    const reqId = reqIdOf(context)
    if (context.env.isHead) {
      const isThere = (await answers.status(reqId)) !== null
      return isThere ? eventStream(context.env, noEvents) : promptNotFound()
    }
    const client = addressKey(context.env.clientAddress)
    // Check this before the model is asked.
    context.env.streams.check(client)
    const answer = await answers.join(reqId, client)
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
    const address = addressKey(context.env.clientAddress)
    const prompt = await prompts.find(reqId)
    const answer = await answers.join(reqId, address).catch(busyOrThrow)
    if (!answer || prompt === null) return page(context, unknownTurnPage(), 404)
    if (answer instanceof BusyError) {
      const headers = { 'Retry-After': String(answer.retryAfterSeconds) }
      return page(context, turnPage(reqId, prompt, null, PLAIN_PAGE_RETRY_SECONDS), busyStatus(answer), headers)
    }
    for await (const _ of answer.listen(AbortSignal.timeout(PLAIN_PAGE_WAIT_MS)));
    return page(context, turnPage(reqId, prompt, answer.newest))
  })

  chat.get('/chat/:req_id/status', async context => {
    const status = await answers.status(reqIdOf(context))
    return status === null ? promptNotFound() : context.json({ status }, 200, { 'Cache-Control': 'no-store' })
  })

  const turn = async (context: Context, reqId: string): Promise<Response> => {
    const prompt = await prompts.find(reqId)
    if (prompt === null) return page(context, unknownTurnPage(), 404)
    return page(context, turnPage(reqId, prompt, await renderedIfEnded(reqId)))
  }

  const renderedIfEnded = async (reqId: string): Promise<Rendering | null> =>
    (await answers.ended(reqId))?.newest ?? null
}

function page(
  context: Context,
  html: string,
  status: 200 | 404 | 422 | 429 | 503 = 200,
  headers: Readonly<Record<string, string>> = {},
): Response | Promise<Response> {
  return context.html(html, status, { ...HEADERS, ...headers })
}

/** The form with the refused text, so that the user can send it again later. */
function refused(context: Context, refusal: Refusal, typed: string): Response | Promise<Response> {
  const { status, reason, retrySeconds } = REFUSALS[refusal]
  return page(context, refusalPage(reason, typed), status, { 'Retry-After': String(retrySeconds) })
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
  return reqId.length > REQ_ID_MAX_CHARACTERS || reqId.includes('\0') ? '' : reqId
}

function promptNotFound(): Response {
  return detailResponse(404, 'Prompt not found')
}
