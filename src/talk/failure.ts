import { DatabaseUnavailableError } from '../database/errors.ts'
import { AnswerError } from '../models/chat-model.ts'
import { safeLine } from './safe-text.ts'

/** One line on what happened and what to do, for a failure that a session outlives. Throws any other error again. */
export function whatFailed(error: unknown): string {
  if (error instanceof AnswerError) return safeLine(error.message)
  if (error instanceof DatabaseUnavailableError) {
    const [first = '', ...rest] = error.message
    const what = `${first.toUpperCase()}${rest.join('')}`
    // Where a connection broke amid a write, it may have been done.
    return safeLine(`${what}. This may not be stored: check what DATABASE_URL names, and try again.`)
  }
  throw error
}
