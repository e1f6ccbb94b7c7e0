import { bodyLimit } from 'hono/body-limit'
import { refuseEncodedBody } from '../server/encoded-body.ts'
import { detailResponse } from '../server/errors.ts'

const FORM_MAX_BYTES = 1_048_576

/** Answers 413 to a form that is too large. */
export const formLimit = bodyLimit({
  maxSize: FORM_MAX_BYTES,
  onError: () => detailResponse(413, 'The form is too large'),
})

/** Reads the fields of a submitted form. A field that is missing, or a form that is none, is an empty text. */
export async function readForm(request: Request): Promise<{ readonly text: (name: string) => string }> {
  refuseEncodedBody(request.headers)
  const fields = await request.formData().catch(() => null)
  return {
    text: name => {
      const field = fields?.get(name)
      // Browsers send the line breaks of a text area as CRLF.
      return typeof field === 'string' ? field.replaceAll('\r\n', '\n') : ''
    },
  }
}
