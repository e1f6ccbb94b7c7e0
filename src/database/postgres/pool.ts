import { SQL } from 'bun'
import { type Distribution, Histogram, SECONDS } from '../../metrics/histogram.ts'
import { currentTimeline } from '../../tracing/timeline.ts'
import type { PostgresAddress } from './address.ts'
import { TimeLimitError } from './failure.ts'
import { traceComment } from './trace-comment.ts'

/** Timeout for connecting. A server that comes back may be noticed this much later. */
const CONNECT_SECONDS = 2

/** Time for an answer to arrive after the server's own statement timeout. */
const ANSWER_GRACE_MS = 1_000

/** The interval between searches for overdue statements. */
const CHECK_INTERVAL_MS = 100

/** The server ends a transaction that is idle for this long, because its client has died. */
const IDLE_TRANSACTION_MS = 30_000

export type Parameter = string | number | null

export interface PoolOptions {
  readonly connections: number
  /** Statement timeout. */
  readonly statementMs: number
  /** Lock timeout. Statements queued behind a waiting one on its connection wait as well. */
  readonly lockMs: number
  /** Whether a pooler, such as PgBouncer, shares connections between transactions: then session state does not last. */
  readonly isShared: boolean
  /** Whether to prepare statements; by default, unless connections are shared. */
  readonly isPrepared?: boolean
}

/** Runs one statement and resolves to its rows. */
export type Query = <Row>(sql: string, ...parameters: Parameter[]) => Promise<Row[]>

/** A transaction's connection, for work that cannot be prepared: scripts, and rows as a stream of bytes. */
export interface RawConnection {
  /** Runs several statements, separated by semicolons. */
  readonly runScript: (sql: string) => Promise<void>
  /** Runs `COPY … TO STDOUT`. A chunk may end within a row. Run nothing else until the stream has ended. */
  readonly copyOut: (sql: string) => ReadableStream<Uint8Array>
  /** Runs `COPY … FROM STDIN`. The rows are stored when closing the stream resolves. */
  readonly copyIn: (sql: string) => WritableStream<Uint8Array>
}

/** Counts of a pool: current, and since the start. */
export interface PoolFigures {
  readonly connectionsMax: number
  /** Statements and transactions. */
  readonly inProgress: number
  readonly seconds: Distribution
}

interface Pending {
  readonly since: number
  readonly reject: (error: unknown) => void
}

/**
 * A connection pool for one server. Each connection prepares a statement once and pipelines statements. Bun.SQL resolves a
 * statement when the server is ready for the next one, so an acknowledged write is committed.
 *
 * If the server does not answer in time, all connections are replaced, because they may lead to a machine that is gone. A
 * broken connection is reopened by the next statement.
 */
export class Pool implements AsyncDisposable {
  readonly #address: PostgresAddress
  readonly #options: PoolOptions
  readonly #pending = new Set<Pending>()
  readonly #checking: ReturnType<typeof setInterval>
  readonly #seconds = new Histogram(SECONDS)
  #sql: SQL
  #forComments: SQL | null = null
  #connectedAt = Number.NEGATIVE_INFINITY

  constructor(address: PostgresAddress, options: PoolOptions) {
    this.#address = address
    this.#options = options
    this.#sql = this.#connect(options)
    this.#checking = setInterval(() => this.#rejectOverdue(), CHECK_INTERVAL_MS)
  }

  /** The time at which the newest connection was opened: every other connection is older. */
  get connectedAt(): number {
    return this.#connectedAt
  }

  /** The number of statements and transactions in progress. */
  get inProgress(): number {
    return this.#pending.size
  }

  get figures(): PoolFigures {
    return { connectionsMax: this.#options.connections, inProgress: this.inProgress, seconds: this.#seconds }
  }

  /** Rejects with a `SQL.PostgresError` or a `TimeLimitError`. */
  query<Row>(sql: string, ...parameters: Parameter[]): Promise<Row[]> {
    const comment = traceComment()
    const connections = comment === '' ? this.#sql : this.#commented()
    return this.#timed(connections.unsafe<Row[]>(comment + sql, parameters))
  }

  /** Runs `work` on one connection, in one transaction. */
  transaction<Result>(work: (query: Query, connection: RawConnection) => Promise<Result>): Promise<Result> {
    const comment = traceComment()
    const connections = comment === '' ? this.#sql : this.#commented()
    return this.#timed(
      connections.begin(connection =>
        work(async (sql, ...parameters) => connection.unsafe(comment + sql, parameters), {
          // Without a list of parameters, Bun uses the simple protocol, which takes several statements.
          runScript: async sql => void (await connection.unsafe(sql)),
          copyOut: sql => connection.unsafe(sql).readable(),
          copyIn: sql => connection.unsafe(sql).writable(),
        }),
      ),
    )
  }

  /** Replaces all connections; statements in progress are rejected. */
  reconnect(): void {
    for (const old of this.#opened()) old.close({ timeout: 0 }).catch(() => {})
    this.#sql = this.#connect(this.#options)
    this.#forComments = null
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#checking)
    await Promise.all(this.#opened().map(sql => sql.close({ timeout: 0 })))
  }

  /** For statements with comments. No two are the same, so they are not prepared: the server would keep each of them. */
  #commented(): SQL {
    this.#forComments ??= this.#connect({ ...this.#options, isPrepared: false })
    return this.#forComments
  }

  #opened(): SQL[] {
    return this.#forComments === null ? [this.#sql] : [this.#sql, this.#forComments]
  }

  #connect(options: PoolOptions): SQL {
    return connect(this.#address, options, () => {
      this.#connectedAt = performance.now()
    })
  }

  #timed<Result>(work: Promise<Result>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const pending: Pending = { since: performance.now(), reject }
      const timeline = currentTimeline()
      this.#pending.add(pending)
      const ended = () => {
        this.#pending.delete(pending)
        timeline?.add('statement', pending.since)
        this.#seconds.observe((performance.now() - pending.since) / 1_000)
      }
      work.then(
        result => {
          ended()
          resolve(result)
        },
        error => {
          ended()
          reject(error)
        },
      )
    })
  }

  #rejectOverdue(): void {
    const limitMs = this.#options.statementMs + ANSWER_GRACE_MS
    const before = performance.now() - limitMs
    let isOverdue = false
    // The oldest first.
    for (const pending of this.#pending) {
      if (pending.since > before) break
      this.#pending.delete(pending)
      pending.reject(new TimeLimitError(`no answer within ${limitMs / 1_000} s`))
      isOverdue = true
    }
    if (isOverdue) this.reconnect()
  }
}

function connect(
  address: PostgresAddress,
  { connections, statementMs, lockMs, isShared, isPrepared = !isShared }: PoolOptions,
  onConnect: () => void,
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
    onconnect: onConnect,
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
