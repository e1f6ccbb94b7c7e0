import type { MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { BusyError } from '../limits/busy-error.ts'
import { ByteBudget } from '../limits/byte-budget.ts'
import { refuseEncodedBody } from '../server/encoded-body.ts'
import { detailResponse } from '../server/errors.ts'

const FORM_MAX_BYTES = 1_048_576

/** Limit on the forms over 64 KiB of all requests in progress. Nobody needs to have logged in to send one. */
const LARGE_FORMS_MAX_BYTES = 67_108_864
const SMALL_BYTES = 65_536

const sizeLimit = bodyLimit({
  maxSize: FORM_MAX_BYTES,
  onError: () => detailResponse(413, 'The form is too large'),
})

/**
 * Makes the limit for all forms of one app; use it before its routes. It answers 413 to a form that is too large, and throws a
 * `BusyError` if too many large ones are under way.
 */
export function formLimit(): MiddlewareHandler {
  const largeForms = new ByteBudget(LARGE_FORMS_MAX_BYTES)
  return async (context, next) => {
    if (context.req.raw.body === null) return next()
    // Browsers declare the length.
    const declared = Number(context.req.header('Content-Length') ?? FORM_MAX_BYTES)
    if (declared <= SMALL_BYTES) return sizeLimit(context, next)
    if (largeForms.isSpent) throw new BusyError('Too many large forms are under way')
    const bytes = Math.min(declared, FORM_MAX_BYTES)
    largeForms.hold(bytes)
    try {
      return await sizeLimit(context, next)
    } finally {
      largeForms.release(bytes)
    }
  }
}

/** The fields of a submitted form. A field that is missing, or a form that is none, is an empty text. */
export interface Form {
  readonly text: (name: string) => string
  /** Of a field that may be there several times. */
  readonly texts: (name: string) => string[]
}

export async function readForm(request: Request): Promise<Form> {
  refuseEncodedBody(request.headers)
  const fields = await request.formData().catch(() => null)
  const texts = (name: string) => {
    const sent = fields?.getAll(name).filter(field => typeof field === 'string') ?? []
    // Browsers send the line breaks of a text area as CRLF.
    return sent.map(field => field.replaceAll('\r\n', '\n'))
  }
  return { texts, text: name => texts(name)[0] ?? '' }
}
