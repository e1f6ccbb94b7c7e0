import { setTimeout as wait } from 'node:timers/promises'
import type { SQL } from 'bun'
import type { PostgresAddress } from './address.ts'

/** Timeout for connecting. A server that comes back may be noticed this much later. */
const CONNECT_SECONDS = 2

/**
 * The pause between tries to connect while no connection is open. Bun also tries again by itself, but after pauses that
 * double, so it may notice a server long after it is back.
 */
const CONNECT_INTERVAL_MS = 200

/** The server ends a transaction that is idle for this long, because its client has died. */
const IDLE_TRANSACTION_MS = 30_000

export interface ConnectionOptions {
  /** How many there may be. */
  readonly connections: number
  /** Statement timeout. A transaction may take this long for each of its statements. */
  readonly statementMs: number
  /** Lock timeout; by default, the statement timeout. Statements queued behind a waiting one on its connection wait as well. */
  readonly lockMs?: number
  /** Whether to prepare statements; by default, unless a pooler shares connections. */
  readonly isPrepared?: boolean
}

/** Resolves when the server accepts a connection. Rejects when it refuses one, or the timeout for connecting is over. */
export async function reach(address: PostgresAddress, options: ConnectionOptions): Promise<void> {
  const tries: SQL[] = []
  const outcomes: Promise<unknown>[] = []
  try {
    for (;;) {
      const fresh = connect(address, { ...options, connections: 1 }, () => {})
      tries.push(fresh)
      outcomes.push(fresh.connect())
      const isOver = Promise.race(outcomes).then(() => true)
      if (await Promise.race([isOver, wait(CONNECT_INTERVAL_MS, false)])) return
    }
  } finally {
    for (const one of tries) one.close({ timeout: 0 }).catch(() => {})
  }
}

/** Makes connections to a server when they are first needed. */
export function connect(
  address: PostgresAddress,
  { isPrepared = !address.isPooled, ...options }: ConnectionOptions,
  onConnect: () => void,
): SQL {
  const name = { application_name: address.applicationName ?? 'stockroom' }
  const settings = {
    // Numbers are read as text: with less than 1, their last digits are missing.
    extra_float_digits: 1,
    ...limitsOf(options),
    // A write that is sent while the server ends its idle connection would fail.
    idle_session_timeout: 0,
    // At a stricter level, which a database may have by default, transactions that meet would fail instead of waiting.
    default_transaction_isolation: 'read committed',
  }
  // Not imported: Bun loads it when it is first used, which takes 4 ms of a start on SQLite, too.
  return new Bun.SQL({
    adapter: 'postgres',
    // Without one, Bun takes the password and the parameters that are missing here from DATABASE_URL, which may be another server's.
    url: 'postgres://localhost',
    hostname: address.hostname,
    port: address.port,
    username: address.username,
    database: address.database,
    ...(address.password !== null && { password: address.password }),
    tls: tlsOf(address),
    max: options.connections,
    prepare: isPrepared,
    connectionTimeout: CONNECT_SECONDS,
    idleTimeout: 0,
    onconnect: onConnect,
    connection: address.isPooled ? name : { ...name, ...settings },
  })
}

/** The limits that a connection has from its start. */
export function limitsOf({ statementMs, lockMs = statementMs }: Pick<ConnectionOptions, 'statementMs' | 'lockMs'>) {
  return {
    statement_timeout: statementMs,
    lock_timeout: lockMs,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
  }
}

function tlsOf({ tls, certificateAuthority }: PostgresAddress): Bun.TLSOptions | 'disable' | 'prefer' {
  if (tls === 'disable' || tls === 'prefer') return tls
  if (tls === 'require' && certificateAuthority === null) return { rejectUnauthorized: false }
  return {
    rejectUnauthorized: true,
    ...(certificateAuthority !== null && { ca: certificateAuthority }),
    // Bun compares the name in the certificate with the host, unless it is told otherwise. As in libpq, the comparison is left out only
    // for an authority of one's own: the public ones sign for everybody.
    ...(tls !== 'verify-full' && certificateAuthority !== null && { checkServerIdentity: () => undefined }),
  }
}
