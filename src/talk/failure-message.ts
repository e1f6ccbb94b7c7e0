import { DatabaseUnavailableError } from '../database/errors.ts'
import { AnswerError } from '../models/chat-model.ts'
import { safeLine } from './safe-text.ts'

/** One line for a failure that does not end the session: what happened and what to do. Rethrows any other error. */
export function failureMessage(error: unknown): string {
  if (error instanceof AnswerError) return safeLine(error.message)
  if (error instanceof DatabaseUnavailableError) {
    const [first = '', ...rest] = error.message
    const reason = `${first.toUpperCase()}${rest.join('')}`
    // If the connection broke during a write, the write may have succeeded.
    return safeLine(`${reason}. This may not be stored: check the database in DATABASE_URL, and try again.`)
  }
  throw error
}
