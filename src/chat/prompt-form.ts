import { PROMPT_MAX_CHARACTERS } from '../models/chat-model.ts'
import { countCodePoints } from '../text/code-points.ts'

/** What was sent from the form: a prompt, or why it is none and what was typed. */
type Submission = { readonly prompt: string } | { readonly reason: string; readonly typed: string }

/** Reads the form's only field. */
export async function readSubmission(request: Request): Promise<Submission> {
  const field = await userPrompt(request)
  // A browser sends the line breaks of a text area as CRLF, whatever was typed.
  const typed = (field ?? '').replaceAll('\r\n', '\n')
  const reason = refusal(typed)
  return reason === null ? { prompt: typed } : { reason, typed }
}

async function userPrompt(request: Request): Promise<string | null> {
  try {
    const field = (await request.formData()).get('user_prompt')
    return typeof field === 'string' ? field : null
  } catch {
    // Another type of body, or none.
    return null
  }
}

function refusal(typed: string): string | null {
  if (typed.trim() === '') return 'Write something first.'
  // PostgreSQL cannot store it, and nobody types it.
  if (typed.includes('\0')) return 'This holds a character that cannot be taken (U+0000).'
  const characters = countCodePoints(typed)
  if (characters <= PROMPT_MAX_CHARACTERS) return null
  return `This is too long: ${count(characters)} characters, and at most ${count(PROMPT_MAX_CHARACTERS)} are taken.`
}

function count(number: number): string {
  return number.toLocaleString('en')
}
