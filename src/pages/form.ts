import type { MiddlewareHandler } from 'hono'
import { HttpError } from '../server/errors.ts'
import { RequestBodies } from '../server/request-bodies.ts'

const FORM_MAX_BYTES = 1_048_576

/** Limit on the forms over 64 KiB of all requests in progress. Nobody needs to have logged in to send one. */
const LARGE_FORMS_MAX_BYTES = 67_108_864

/** Limit on the fields of a form, because each takes a hundred bytes of memory, however short it is. No page has as many. */
const FIELDS_MAX = 10_000

const AMPERSAND = 0x26

/**
 * Makes the limit for all forms of one app; use it before its routes. It throws an `HttpError` 413 for a form that is too large,
 * and a `BusyError` if too many large ones are under way.
 */
export function formLimit(bodyMaxBytes = FORM_MAX_BYTES): MiddlewareHandler {
  const forms = new RequestBodies({ bodyMaxBytes, maxBytes: LARGE_FORMS_MAX_BYTES })
  return async (context, next) => {
    const { raw } = context.req
    if (raw.body === null) return next()
    return forms.answering(raw, async body => {
      // Browsers declare the length.
      if (!raw.headers.has('Content-Length')) context.req.raw = new Request(raw, { body: await body.bytes() })
      await next()
      return context.res
    })
  }
}

/** The fields of a submitted form. A field that is missing is an empty text, and so is each field if the body is no form. */
export interface Form {
  readonly text: (name: string) => string
  /** Of a field that may be there several times. */
  readonly texts: (name: string) => string[]
}

/** For a request that has passed `formLimit`. Rejects with an `HttpError` 413 if there are too many. */
export async function readForm(request: Request): Promise<Form> {
  const fields = await fieldsOf(request)
  const texts = (name: string) => {
    const sent = fields?.getAll(name).filter(field => typeof field === 'string') ?? []
    // Browsers send the line breaks of a text area as CRLF.
    return sent.map(field => field.replaceAll('\r\n', '\n'))
  }
  return { texts, text: name => texts(name)[0] ?? '' }
}

/** `null` if it is no form. */
async function fieldsOf(request: Request) {
  const type = request.headers.get('Content-Type') ?? ''
  const body = await request.bytes().catch(() => null)
  if (body === null) return null
  // In the other encoding, each field takes so many bytes that the limit on the form is enough.
  if (type.toLowerCase().includes('urlencoded') && hasTooManyFields(body)) {
    throw new HttpError(413, `The form has more than ${FIELDS_MAX} fields`)
  }
  const sent = new Response(body, { headers: { 'Content-Type': type } })
  return sent.formData().catch(() => null)
}

function hasTooManyFields(body: Uint8Array): boolean {
  let end = -1
  for (let count = 0; count < FIELDS_MAX; count += 1) {
    end = body.indexOf(AMPERSAND, end + 1)
    if (end === -1) return false
  }
  return true
}
