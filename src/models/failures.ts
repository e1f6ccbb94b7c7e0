import { APICallError, JSONParseError, StreamProviderError, TypeValidationError } from 'ai'
import { isJsonObject } from '../json-object.ts'
import { errorCode } from '../program/error-message.ts'
import { AnswerError } from './chat-model.ts'

/** Longer waits are not given in minutes. */
const LATER_MAX_MS = 7_200_000

/** OpenAI sends 429 if the account has no credit left, and Anthropic 400 with nothing but this sentence. */
const NO_CREDIT = /insufficient_quota|credit balance is too low/

/** OpenAI, OpenRouter, LiteLLM, DeepSeek, xAI and Mistral send 400, or OpenAI 403, with this if they do not know the model. */
const MODEL_UNKNOWN =
  /model_not_found|is not a valid model ID|Invalid model name|Model Not Exist|Model not found|invalid_model/

/** A service that runs models: its names, for messages about failures, and what is special about its events. */
export interface Service {
  /** The subject of the sentence. */
  readonly title: string
  readonly credentialVariable: string
  readonly addressVariable: string
  /** The types of its events, if clients have to ignore others. */
  readonly eventTypes?: readonly unknown[]
  /** For one answer: makes the data of its events what the AI SDK expects. */
  readonly corrected?: () => (data: string) => string
}

/** Translates an error that the AI SDK threw or put into its stream. Its own text is not used. */
export function answerError(error: unknown, service: Service, model: string): AnswerError {
  if (error instanceof AnswerError) return error
  const { title } = service
  if (APICallError.isInstance(error)) {
    // The AI SDK wraps errors from our own `fetch`.
    if (error.cause instanceof AnswerError) return error.cause
    if (error.statusCode === undefined) return unreachable(service, error)
    return refusal(error.statusCode, service, model, error.responseBody, error.responseHeaders)
  }
  if (StreamProviderError.isInstance(error)) return refusal(error.statusCode ?? 500, service, model)
  if (TypeValidationError.isInstance(error)) {
    const status = statusIn(error.value)
    if (status !== null) return refusal(status, service, model)
  }
  if (JSONParseError.isInstance(error) || TypeValidationError.isInstance(error)) return notUnderstood(service)
  return new AnswerError('cut off', `${title} broke off before the answer was complete: ask again.`)
}

/**
 * The call did not reach the provider, for the reason that the system names: a refused connection, an unknown host, a
 * certificate that is not trusted. The AI SDK knows few of them.
 */
export function unreachable({ title, addressVariable }: Service, error: unknown): AnswerError {
  const code = errorCode(error)
  const reason = typeof code === 'string' && /^[A-Z0-9_]+$/.test(code) ? ` (${code})` : ''
  return new AnswerError(
    'unreachable',
    `${title} cannot be reached${reason}: check the network and ${addressVariable}, or try again a little later.`,
  )
}

function refusal(
  status: number,
  service: Service,
  model: string,
  body = '',
  headers: Record<string, string> = {},
): AnswerError {
  const { title, addressVariable, credentialVariable } = service
  if (status === 404 || (status < 404 && MODEL_UNKNOWN.test(body))) {
    return new AnswerError(
      'model unknown',
      `${title} has no model ${JSON.stringify(model)}: check CHAT_MODEL and ${addressVariable}.`,
    )
  }
  // Google sends 400 for a wrong credential.
  if (status === 401 || status === 403 || body.includes('API_KEY_INVALID')) {
    return new AnswerError('credential refused', `${title} refused the credential: check ${credentialVariable}.`)
  }
  if (status === 402 || NO_CREDIT.test(body)) {
    return new AnswerError('no credit', `${title} has no credit left for this account: check its plan and billing.`)
  }
  if (status === 429) {
    const when = later(retryAfterMs(headers))
    return new AnswerError('rate limited', `${title} limits the rate of requests: try again ${when}.`)
  }
  if (status >= 500 || status === 408) {
    return new AnswerError('provider failed', `${title} failed (status ${status}): try again a little later.`)
  }
  // No model server refuses a question so: this is another server.
  if (status >= 400 && status !== 405) {
    return new AnswerError(
      'request refused',
      `${title} rejected the question (status ${status}): it may be too long, or ask for more than the model can do.`,
    )
  }
  return notUnderstood(service)
}

/**
 * The status of an error that a compatible server sends amid an answer in a shape of its own: vLLM and Mistral as an object
 * named `error`, TGI and LM Studio as a text. Some have codes of their own. `null` if it is no error.
 */
function statusIn(event: unknown): number | null {
  if (!isJsonObject(event) || (event.object !== 'error' && !event.error)) return null
  return typeof event.code === 'number' && event.code >= 400 && event.code < 600 ? event.code : 500
}

/** Whether this stands for an event of an unknown type, which the AI SDK takes for an error. */
export function isToBeIgnored(error: unknown, { eventTypes }: Service): boolean {
  if (!eventTypes || !TypeValidationError.isInstance(error) || !isJsonObject(error.value)) return false
  return typeof error.value.type === 'string' && !eventTypes.includes(error.value.type)
}

/** The provider violated its protocol. */
export function notUnderstood({ title, addressVariable }: Service): AnswerError {
  return new AnswerError(
    'not understood',
    `${title} sent a response that is not a model's answer: check ${addressVariable}, or try again.`,
  )
}

function later(waitMs: number | null): string {
  if (waitMs === null || waitMs <= 1_000) return 'a little later'
  if (waitMs > LATER_MAX_MS) return 'later'
  return waitMs < 120_000 ? `in ${Math.ceil(waitMs / 1_000)} seconds` : `in ${Math.ceil(waitMs / 60_000)} minutes`
}

/** The wait in a `Retry-After` header, which has seconds or a date (RFC 9110, 10.2.3); `null` if there is none. */
export function retryAfterMs(headers: Readonly<Record<string, string>>): number | null {
  const text = headers['retry-after']
  if (text === undefined) return null
  // Two of them, as if a proxy has added its own, are joined by a comma.
  const seconds = Number.parseFloat(text)
  const milliseconds = Number.isNaN(seconds) ? Date.parse(text) - Date.now() : seconds * 1000
  return Number.isFinite(milliseconds) ? Math.max(milliseconds, 0) : null
}
