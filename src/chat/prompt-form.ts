import { PROMPT_MAX_CHARACTERS } from '../models/chat-model.ts'
import { countCodePoints } from '../text/code-points.ts'

/** The submitted form: a prompt, or the text with the reason why it is refused. */
type Submission = { readonly prompt: string } | { readonly reason: string; readonly typed: string }

/** Reads the prompt from the submitted form. */
export async function readSubmission(request: Request): Promise<Submission> {
  const field = await userPrompt(request)
  // Browsers send the line breaks of a text area as CRLF.
  const typed = (field ?? '').replaceAll('\r\n', '\n')
  const reason = refusal(typed)
  return reason === null ? { prompt: typed } : { reason, typed }
}

async function userPrompt(request: Request): Promise<string | null> {
  try {
    const field = (await request.formData()).get('user_prompt')
    return typeof field === 'string' ? field : null
  } catch {
    // The body is missing or has another type.
    return null
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
