import { bodyLimit } from 'hono/body-limit'
import { countCodePoints } from '../limits/code-points.ts'
import { PROMPT_MAX_CHARACTERS } from '../models/chat-model.ts'
import { refuseEncodedBody } from '../server/encoded-body.ts'
import { detailResponse } from '../server/errors.ts'

const FORM_MAX_BYTES = 1_048_576

/** Answers 413 to a form that is too large. */
export const formLimit = bodyLimit({
  maxSize: FORM_MAX_BYTES,
  onError: () => detailResponse(413, 'The form is too large'),
})

/** The submitted form: a prompt, or the text with the reason why it is refused. */
type Submission = { readonly prompt: string } | { readonly reason: string; readonly typed: string }

/** Reads the prompt from the submitted form. */
export async function readSubmission(request: Request): Promise<Submission> {
  const typed = (await readForm(request)).text('user_prompt')
  const reason = refusal(typed)
  return reason === null ? { prompt: typed } : { reason, typed }
}

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

function refusal(typed: string): string | null {
  if (typed.trim() === '') return 'Write something first.'
  // PostgreSQL cannot store U+0000, and nobody types it.
  if (typed.includes('\0')) return 'Your message contains a character that cannot be stored (U+0000).'
  const characters = countCodePoints(typed)
  if (characters <= PROMPT_MAX_CHARACTERS) return null
  return `Your message has ${count(characters)} characters. The limit is ${count(PROMPT_MAX_CHARACTERS)}.`
}

function count(number: number): string {
  return number.toLocaleString('en')
}
