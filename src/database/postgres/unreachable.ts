import { systemClock, within } from '../../clock.ts'
import { errorCode, errorMessage } from '../../program/error-message.ts'
import type { PostgresAddress } from './address.ts'
import { failureOf, isPasswordRefused, isPermissionMissing } from './failure.ts'

const TRY_MS = 1_000

/**
 * The message of an error. If the server could not be reached, the driver says the same whatever the reason, so one plain connection
 * finds it out, such as ECONNREFUSED. A server says the same of a wrong password and of none.
 */
export async function reasonOf(error: unknown, { hostname, port, password }: PostgresAddress): Promise<string> {
  const message = errorMessage(error)
  if (isPasswordRefused(error) && password === null) {
    return `${message}; it got none: set DATABASE_PASSWORD or DATABASE_PASSWORD_FILE`
  }
  if (isPermissionMissing(error)) return `${message}; grant it to the user, or let the user own the database`
  if (failureOf(error) !== 'unreachable') return message
  const socket = { open: (opened: Bun.Socket) => void opened.end(), data: () => {} }
  const trying = Bun.connect({ hostname, port, socket }).then(() => 'reached', errorCode)
  const outcome = (await within(systemClock, TRY_MS, trying)) ?? 'no answer'
  return outcome === 'reached' ? message : `${message}: ${outcome}`
}
