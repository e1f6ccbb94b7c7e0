import { countCodePoints } from '../limits/code-points.ts'
import { PROMPT_MAX_CHARACTERS } from '../models/chat-model.ts'
import { readForm } from '../pages/form.ts'

/** The submitted form: a prompt, or the text with the reason why it is refused. */
type Submission = { readonly prompt: string } | { readonly reason: string; readonly typed: string }

/** Reads the prompt from the submitted form. */
export async function readSubmission(request: Request): Promise<Submission> {
  const typed = (await readForm(request)).text('user_prompt')
  const reason = refusal(typed)
  return reason === null ? { prompt: typed } : { reason, typed }
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
