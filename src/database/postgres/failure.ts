import type { SQL } from 'bun'
import { errorCode, errorMessage } from '../../program/error-message.ts'
import { DatabaseUnavailableError, WorkerLostError } from '../errors.ts'

/** The server did not answer within the statement timeout: it, or the network, hangs. */
export class TimeLimitError extends Error {
  override name = 'TimeLimitError'
}

/** Why a statement failed. */
export type Failure =
  /** Rolled back because of another transaction; a retry may succeed. */
  | 'conflict'
  /** Rolled back because another row refers to a deleted one, perhaps one of somebody's own table. */
  | 'referred'
  /** The connection broke during the statement; it may or may not have been executed. */
  | 'lost'
  /** Citus has lost one of its workers; nothing was executed. */
  | 'worker'
  /** The server cannot be reached; nothing was executed. */
  | 'unreachable'
  /** The server no longer accepts writes, as after a failover; nothing was executed. */
  | 'read-only'
  /** The server is a standby, but the primary was asked for; nothing was executed. */
  | 'standby'
  /** The statement began after its deadline; nothing was executed. */
  | 'late'
  /** The server has refused or canceled the statement; nothing was executed. */
  | 'busy'
  /** Wrong credentials, no such database or a certificate that cannot be verified; retrying does not help until it is changed. */
  | 'denied'
  /** The statement is wrong. */
  | 'fault'

/**
 * SQLSTATE codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
 * A standby refuses what `onPrimary` adds to a read with 55000, and a read of an unlogged table with 0A000.
 * It refuses what `inTime` adds to a late write with 2201X. It closes the connection of an idle transaction with 25P03, and of one
 * that takes too long with 25P04.
 * A foreign key violation by a new row is a conflict: our statements check that the parent exists, so it was deleted in the
 * meantime. PostgreSQL 18 and later have a code of its own, 23001, for a row that a rule of RESTRICT keeps.
 */
const BY_STATE: readonly (readonly [pattern: RegExp, failure: Failure])[] = [
  [/^(40001|40P01|23503)$/, 'conflict'],
  [/^23001$/, 'referred'],
  [/^(25P03|25P04|57P01|57P02|57P05|08...)$/, 'lost'],
  [/^57P03$/, 'unreachable'],
  [/^25006$/, 'read-only'],
  [/^(55000|0A000)$/, 'standby'],
  [/^2201X$/, 'late'],
  [/^(53...|55P03|57014|58...)$/, 'busy'],
  [/^(28...|3D000)$/, 'denied'],
]

/** How the coordinator of Citus says that it cannot reach a worker. Citus does not translate its messages. */
const WORKER_UNREACHABLE = /^(connection to the remote node|failure on connection marked as essential)/
/** The worker's own context is before it, such as that of a row that a statement waits for. */
const ON_WORKER = /^while executing command on /m

/** How PostgreSQL refuses to delete a row, in English. Citus passes on the texts of its workers alone. */
const IS_REFERRED_TO = /^update or delete on table /

/** How a worker refuses rows that Citus sends by COPY, as it does for most inserts. Their code is lost: it is XX000. */
const REFERS_TO_NONE = /violates foreign key constraint/

/** Errors of a lost worker. The code is XX000 if the connection to it broke, because that has no code of its own. */
const WORKER_LOST = /^(57P0[123]|08...|XX000)$/

/**
 * The codes of a failed TLS handshake, which are not of a `PostgresError`. Those of certificates are OpenSSL's:
 * https://docs.openssl.org/3.0/man3/X509_STORE_CTX_get_error/
 */
const HANDSHAKE_FAILED =
  /CERT|CRL|TLS|SSL|^(UNABLE_TO_VERIFY_LEAF_SIGNATURE|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH|EPROTO)$/

export function failureOf(error: unknown): Failure {
  if (error instanceof TimeLimitError) return 'lost'
  if (HANDSHAKE_FAILED.test(String(errorCode(error)))) return 'denied'
  // The connection broke during the TLS handshake, which is no `PostgresError` either.
  if (errorCode(error) === 'ECONNRESET') return 'unreachable'
  if (!(error instanceof Bun.SQL.PostgresError)) return 'fault'
  const state = stateOf(error)
  if (state === 'XX000' && REFERS_TO_NONE.test(error.message)) return 'conflict'
  if (state !== null && isWorkerLost(error, state)) return 'worker'
  if (state === '23503' && isReferredTo(error)) return 'referred'
  if (state !== null) return BY_STATE.find(([pattern]) => pattern.test(state))?.[1] ?? 'fault'
  if (error.code === 'ERR_POSTGRES_CONNECTION_REFUSED' || error.code === 'ERR_POSTGRES_CONNECTION_TIMEOUT')
    return 'unreachable'
  if (/AUTHENTICATION|SASL|PASSWORD/.test(error.code)) return 'denied'
  return /CONNECTION|TIMEOUT|CLOSED/.test(error.code) ? 'lost' : 'fault'
}

/** The table and line that COPY names. What follows them quotes the row. */
const PLACE_OF_ROW = /^COPY \w+, line \d+(, column \w+)?/m

/** Data that does not fit, a constraint, or a text that is too long for an index. */
const REFUSED_ROW = /^(2[23]|54000)/

/** Says why a row was refused because of what is in it; `null` for all other errors. */
export function reasonOfRefusedRow(error: unknown): string | null {
  if (!(error instanceof Bun.SQL.PostgresError)) return null
  const { message, where } = error
  // Somebody's own trigger may raise any code, but says where, in whatever language.
  const isRaised = where !== undefined && where.search(ON_WORKER) !== 0 && failureOf(error) === 'fault'
  if (!isRaised && !REFUSED_ROW.test(stateOf(error) ?? '')) return null
  const place = PLACE_OF_ROW.exec(where ?? '')?.[0]
  return place === undefined ? message : `${message} (${place})`
}

/** Whether the statement would have stored a key twice. */
export function isDuplicate(error: unknown, constraint: string): boolean {
  return stateOf(error) === '23505' && error instanceof Bun.SQL.PostgresError && error.constraint === constraint
}

/** Whether a pooler has refused a connection because of a setting that it does not pass on. */
export function isUnsupportedParameter(error: unknown): boolean {
  return stateOf(error) === '08P01'
}

/** Whether the server has refused a connection because it does not know one of its settings. */
export function isUnknownSetting(error: unknown): boolean {
  return stateOf(error) === '42704'
}

/** Whether the statement has waited too long for a lock. */
export function isLockTimeout(error: unknown): boolean {
  return stateOf(error) === '55P03'
}

/** Whether the server has refused the password, or wants one and got none. */
export function isPasswordRefused(error: unknown): boolean {
  return stateOf(error) === '28P01'
}

/** Whether the user lacks a permission, such as to create tables: since PostgreSQL 15, only the owner of a database has that. */
export function isPermissionMissing(error: unknown): boolean {
  return stateOf(error) === '42501'
}

export function isDiskFull(error: unknown): boolean {
  return stateOf(error) === '53100'
}

/** The error for the caller: all but a fault and a rule of somebody's own table mean that the database is unavailable. */
export function translated(error: unknown): unknown {
  const failure = failureOf(error)
  if (failure === 'fault' || failure === 'referred') return error
  const reason = `the database cannot be used: ${errorMessage(error)}`
  if (failure === 'worker') return new WorkerLostError(reason, { cause: error })
  return new DatabaseUnavailableError(reason, { cause: error })
}

function isWorkerLost({ message, where }: SQL.PostgresError, state: string): boolean {
  return WORKER_UNREACHABLE.test(message) || (ON_WORKER.test(where ?? '') && WORKER_LOST.test(state))
}

/**
 * Whether it was a deleted row that violated a foreign key, not a new one. In whatever language, the detail names the other table
 * than the row's. The error belongs to the table with the key in both cases.
 */
function isReferredTo({ message, detail, table }: SQL.PostgresError): boolean {
  return IS_REFERRED_TO.test(message) || (table !== undefined && detail?.includes(table) === true)
}

/** The SQLSTATE code that the server sent; `null` for errors of the connection. */
function stateOf(error: unknown): string | null {
  return error instanceof Bun.SQL.PostgresError && error.code === 'ERR_POSTGRES_SERVER_ERROR'
    ? (error.errno ?? null)
    : null
}
