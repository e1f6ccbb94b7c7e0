import { APICallError, JSONParseError, StreamProviderError, TypeValidationError } from 'ai'
import { AnswerError } from './chat-model.ts'
import { retryAfterMs } from './retry-after.ts'

/** A longer wait is not told to the minute. */
const LATER_MAX_MS = 7_200_000

/** What a sentence about a failure names. */
export interface Service {
  /** Begins the sentence. */
  readonly title: string
  readonly credentialVariable: string
  readonly addressVariable: string
}

/** What the AI SDK threw, or put into its stream, in our words. Nothing of its own text is taken over. */
export function answerError(error: unknown, service: Service, model: string): AnswerError {
  if (error instanceof AnswerError) return error
  const { title, addressVariable } = service
  if (APICallError.isInstance(error)) {
    // What our own `fetch` threw comes wrapped.
    if (error.cause instanceof AnswerError) return error.cause
    if (error.statusCode === undefined) {
      return new AnswerError(
        'unreachable',
        `${title} cannot be reached: check the network and ${addressVariable}, or try again a little later.`,
      )
    }
    return refusal(error.statusCode, service, model, error.responseBody, error.responseHeaders)
  }
  if (StreamProviderError.isInstance(error)) return refusal(error.statusCode ?? 500, service, model)
  if (JSONParseError.isInstance(error) || TypeValidationError.isInstance(error)) return notUnderstood(service)
  return new AnswerError('cut off', `${title} broke off before the answer was complete: ask again.`)
}

function refusal(
  status: number,
  service: Service,
  model: string,
  body = '',
  headers: Record<string, string> = {},
): AnswerError {
  const { title, addressVariable, credentialVariable } = service
  // Google answers 400 to a wrong credential; OpenAI answers 429 when there is no money left.
  if (status === 401 || status === 403 || body.includes('API_KEY_INVALID')) {
    return new AnswerError('credential refused', `${title} refused the credential: check ${credentialVariable}.`)
  }
  if (status === 402 || body.includes('insufficient_quota')) {
    return new AnswerError('no credit', `${title} has no credit left for this account: check its plan and billing.`)
  }
  if (status === 404) {
    return new AnswerError(
      'model unknown',
      `${title} knows no model ${JSON.stringify(model)}: check CHAT_MODEL and ${addressVariable}.`,
    )
  }
  if (status === 429) {
    const when = later(retryAfterMs(headers))
    return new AnswerError('rate limited', `${title} takes no more questions at the moment: try again ${when}.`)
  }
  if (status >= 500) {
    return new AnswerError('provider failed', `${title} failed (status ${status}): try again a little later.`)
  }
  if (status >= 400) {
    return new AnswerError(
      'request refused',
      `${title} refused the question (status ${status}): it may be too long, or more than the model can do.`,
    )
  }
  return notUnderstood(service)
}

/** For a provider that does not keep to its protocol. */
export function notUnderstood({ title, addressVariable }: Service): AnswerError {
  return new AnswerError(
    'not understood',
    `${title} sent something that is no answer of a model: check ${addressVariable}, or try again.`,
  )
}

function later(waitMs: number | null): string {
  if (waitMs === null) return 'a little later'
  if (waitMs > LATER_MAX_MS) return 'later'
  return waitMs < 120_000 ? `in ${Math.ceil(waitMs / 1_000)} seconds` : `in ${Math.ceil(waitMs / 60_000)} minutes`
}
