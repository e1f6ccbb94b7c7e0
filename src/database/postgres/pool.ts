import { SQL } from 'bun'
import type { PostgresAddress } from './address.ts'
import { TimeLimitError } from './failure.ts'

/** How long connecting may take; a server that comes back may be noticed so much later. */
const CONNECT_SECONDS = 2

/** After the server has had its time, for its answer to come. */
const ANSWER_GRACE_MS = 1_000

/** How often statements without an answer are looked for. */
const WATCH_MS = 100

/** A transaction that does nothing for so long is ended by the server: whoever began it is gone. */
const IDLE_TRANSACTION_MS = 30_000

export type Parameter = string | number | null

export interface PoolOptions {
  readonly connections: number
  /** How long the server may work on one statement. */
  readonly statementMs: number
  /** How long a statement waits for what others hold; those behind it on its connection wait, too. */
  readonly lockMs: number
  /**
   * Whether connections are shared with others between transactions, as PgBouncer does it. What belongs to a
   * connection, prepared statements and settings, does not hold then.
   */
  readonly isShared: boolean
  /** By default they are, where connections are not shared. */
  readonly isPrepared?: boolean
}

/** Does one statement and resolves to its rows. */
export type Query = <Row>(sql: string, ...parameters: Parameter[]) => Promise<Row[]>

/** Rows as a stream of bytes, by `COPY`; nothing else can be asked until it has ended. */
export interface RowStreams {
  /** Does a `COPY … TO STDOUT`. A chunk may end within a row. */
  readonly from: (sql: string) => ReadableStream<Uint8Array>
  /** Does a `COPY … FROM STDIN`. The rows are stored when closing it resolves. */
  readonly into: (sql: string) => WritableStream<Uint8Array>
}

interface Pending {
  readonly since: number
  readonly reject: (error: unknown) => void
}

/**
 * Connections to one server. Statements are prepared once on each, and sent without waiting for the answers to those
 * before. Bun.SQL settles a statement when the server is ready for the next one, so what is acknowledged is committed.
 *
 * When the server stays silent beyond its time, all connections are given up and made anew: they may lead to a machine
 * that is no longer there. Connections that break are made anew with the next statement.
 */
export class Pool implements AsyncDisposable {
  readonly #address: PostgresAddress
  readonly #options: PoolOptions
  readonly #pending = new Set<Pending>()
  readonly #watch: ReturnType<typeof setInterval>
  #sql: SQL
  #connectedAt = Number.NEGATIVE_INFINITY

  constructor(address: PostgresAddress, options: PoolOptions) {
    this.#address = address
    this.#options = options
    this.#sql = this.#connect()
    this.#watch = setInterval(() => this.#endSilent(), WATCH_MS)
  }

  /** When the newest connection was made: at that moment all others existed, or are gone by now. */
  get connectedAt(): number {
    return this.#connectedAt
  }

  /** Statements that wait for their answer. */
  get waiting(): number {
    return this.#pending.size
  }

  /** Rejects with a `SQL.PostgresError` or a `TimeLimitError`. */
  query<Row>(sql: string, ...parameters: Parameter[]): Promise<Row[]> {
    return this.#timed(this.#sql.unsafe<Row[]>(sql, parameters))
  }

  /** Does all that `work` asks on one connection, in one transaction. */
  transaction<Result>(work: (query: Query, rows: RowStreams) => Promise<Result>): Promise<Result> {
    return this.#timed(
      this.#sql.begin(connection =>
        work(async (sql, ...parameters) => connection.unsafe(sql, parameters), {
          from: sql => connection.unsafe(sql).readable(),
          into: sql => connection.unsafe(sql).writable(),
        }),
      ),
    )
  }

  /** Gives up all connections; what waits for an answer is rejected. */
  reconnect(): void {
    const old = this.#sql
    this.#sql = this.#connect()
    old.close({ timeout: 0 }).catch(() => {})
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#watch)
    await this.#sql.close({ timeout: 0 })
  }

  #connect(): SQL {
    return connect(this.#address, this.#options, () => {
      this.#connectedAt = performance.now()
    })
  }

  #timed<Result>(work: Promise<Result>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const pending: Pending = { since: performance.now(), reject }
      this.#pending.add(pending)
      work.then(
        result => {
          this.#pending.delete(pending)
          resolve(result)
        },
        error => {
          this.#pending.delete(pending)
          reject(error)
        },
      )
    })
  }

  #endSilent(): void {
    const limitMs = this.#options.statementMs + ANSWER_GRACE_MS
    const before = performance.now() - limitMs
    let isSilent = false
    // In the order in which they began.
    for (const pending of this.#pending) {
      if (pending.since > before) break
      this.#pending.delete(pending)
      pending.reject(new TimeLimitError(`no answer within ${limitMs / 1_000} s`))
      isSilent = true
    }
    if (isSilent) this.reconnect()
  }
}

function connect(
  address: PostgresAddress,
  { connections, statementMs, lockMs, isShared, isPrepared = !isShared }: PoolOptions,
  connected: () => void,
): SQL {
  const name = { application_name: address.applicationName ?? 'stockroom' }
  const limits = {
    statement_timeout: statementMs,
    lock_timeout: lockMs,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
  }
  return new SQL({
    adapter: 'postgres',
    hostname: address.hostname,
    port: address.port,
    username: address.username,
    database: address.database,
    ...(address.password !== null && { password: address.password }),
    tls: tlsOf(address),
    max: connections,
    prepare: isPrepared,
    connectionTimeout: CONNECT_SECONDS,
    idleTimeout: 0,
    onconnect: connected,
    connection: isShared ? name : { ...name, ...limits },
  })
}

function tlsOf({ tls, certificateAuthority, hostname }: PostgresAddress): Bun.TLSOptions | 'disable' | 'prefer' {
  if (tls === 'disable' || tls === 'prefer') return tls
  if (tls === 'require' && certificateAuthority === null) return { rejectUnauthorized: false }
  return {
    rejectUnauthorized: true,
    ...(certificateAuthority !== null && { ca: certificateAuthority }),
    ...(tls === 'verify-full' && { serverName: hostname }),
  }
}
