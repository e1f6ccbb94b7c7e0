import { bodyLimit } from 'hono/body-limit'
import { refuseEncodedBody } from '../server/encoded-body.ts'
import { detailResponse } from '../server/errors.ts'

const FORM_MAX_BYTES = 1_048_576

/** Answers 413 to a form that is too large. */
export const formLimit = bodyLimit({
  maxSize: FORM_MAX_BYTES,
  onError: () => detailResponse(413, 'The form is too large'),
})

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
