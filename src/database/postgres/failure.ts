import { SQL } from 'bun'
import { errorMessage } from '../../error-message.ts'
import { DatabaseUnavailableError } from '../errors.ts'

/** The answer took longer than a statement may take: the server, or the way to it, hangs. */
export class TimeLimitError extends Error {
  override name = 'TimeLimitError'
}

/**
 * What a failed statement means for whoever asked.
 *
 * - `conflict`: undone for the sake of another transaction; done again, it may succeed
 * - `lost`: the connection broke while it ran; whether it was done is not known
 * - `absent`: the server cannot be reached; nothing was done
 * - `misled`: the server is no longer the one that takes writes; nothing was done
 * - `busy`: the server refuses, or has given up; nothing was done
 * - `refused`: it does not let us in, and will not without somebody changing something
 * - `fault`: what was asked is wrong
 */
export type Failure = 'conflict' | 'lost' | 'absent' | 'misled' | 'busy' | 'refused' | 'fault'

/**
 * SQLSTATE codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
 * A violated foreign key is a conflict: our statements look for what they refer to, and it was deleted meanwhile.
 */
const BY_STATE: readonly (readonly [pattern: RegExp, failure: Failure])[] = [
  [/^(40001|40P01|23503)$/, 'conflict'],
  [/^(57P01|57P02|57P05|08...)$/, 'lost'],
  [/^57P03$/, 'absent'],
  [/^25006$/, 'misled'],
  [/^(53...|55P03|57014|58...)$/, 'busy'],
  [/^(28...|3D000)$/, 'refused'],
]

export function failureOf(error: unknown): Failure {
  if (error instanceof TimeLimitError) return 'lost'
  if (!(error instanceof SQL.PostgresError)) return 'fault'
  const state = stateOf(error)
  if (state !== null) return BY_STATE.find(([pattern]) => pattern.test(state))?.[1] ?? 'fault'
  if (error.code === 'ERR_POSTGRES_CONNECTION_REFUSED' || error.code === 'ERR_POSTGRES_CONNECTION_TIMEOUT')
    return 'absent'
  if (/TLS|SSL|CERT|AUTHENTICATION|SASL|PASSWORD/.test(error.code)) return 'refused'
  return /CONNECTION|TIMEOUT|CLOSED/.test(error.code) ? 'lost' : 'fault'
}

/** What two that make the same table at once may be told, as `IF NOT EXISTS` does not prevent: key, table or type is there. */
const MADE_TWICE: ReadonlySet<string | null> = new Set(['23505', '42P07', '42710'])

/** That two have made the same table at the same moment. */
export function isMadeTwice(error: unknown): boolean {
  return MADE_TWICE.has(stateOf(error)) || failureOf(error) === 'conflict'
}

/** That a connection was asked for with a setting that a pooler does not pass on. */
export function isUnsupportedParameter(error: unknown): boolean {
  return stateOf(error) === '08P01'
}

export function isDiskFull(error: unknown): boolean {
  return stateOf(error) === '53100'
}

/** As it is told to those who wait for an answer: a fault is ours, everything else is the database's. */
export function translated(error: unknown): unknown {
  if (failureOf(error) === 'fault') return error
  return new DatabaseUnavailableError(`the database cannot be used: ${errorMessage(error)}`, { cause: error })
}

/** The server's own code for what went wrong; `null` for what it did not say. */
function stateOf(error: unknown): string | null {
  return error instanceof SQL.PostgresError && error.code === 'ERR_POSTGRES_SERVER_ERROR' ? (error.errno ?? null) : null
}
