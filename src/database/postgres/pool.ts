import type { SQL } from 'bun'
import { Histogram, SECONDS } from '../../metrics/histogram.ts'
import { shared } from '../../shared.ts'
import { currentTimeline } from '../../tracing/timeline.ts'
import { DatabaseUnavailableError } from '../errors.ts'
import type { PostgresAddress } from './address.ts'
import { type ConnectionOptions, connect, limitsOf, reach } from './connection.ts'
import { type Failure, failureOf, TimeLimitError } from './failure.ts'

/** Connections to a server that answers, but is not the one to use, are replaced at most this often. */
const MOVE_INTERVAL_MS = 250

/** Failures after which the address may lead to another server; only new connections follow it. */
const MAY_HAVE_MOVED: ReadonlySet<Failure> = new Set(['lost', 'unreachable', 'standby', 'read-only'])

/** Time for an answer to arrive after the server's own statement timeout. */
export const ANSWER_GRACE_MS = 1_000

/** The interval between searches for overdue statements. */
const CHECK_INTERVAL_MS = 100

/** From version 17 on, a role or a server may limit whole transactions, too. Earlier versions refuse the setting. */
const HAS_TRANSACTION_TIMEOUT = "SELECT 1 AS one WHERE current_setting('transaction_timeout', true) IS NOT NULL"

export type Parameter = string | number | null

export interface PoolOptions extends ConnectionOptions {
  /** Whether its transactions need these limits also behind a pooler, and no limit on the whole. */
  readonly isLong?: boolean
}

type IsolationLevel = 'READ COMMITTED' | 'REPEATABLE READ'

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

interface Pending {
  /** When its time limit last began. */
  limitedSince: number
  /** The connections that it uses; `null` while none is open. */
  generation: number | null
  readonly reject: (error: unknown) => void
}

/** The connections of one generation. */
interface Connections {
  readonly generation: number
  readonly sql: SQL
}

/**
 * A connection pool for one server. Each connection prepares a statement once and pipelines statements. Bun.SQL resolves a
 * statement when the server is ready for the next one, so an acknowledged write is committed.
 *
 * The address may lead to another server at any time, and only new connections follow it. So all connections are of one
 * generation, and they are replaced together as soon as one breaks or leads to a server that cannot be used: otherwise some
 * could lead to the old server and some to the new one. Statements in progress end on the old connections, unless the server
 * does not answer in time.
 */
export class Pool implements AsyncDisposable {
  readonly #address: PostgresAddress
  readonly #options: PoolOptions
  readonly #pending = new Set<Pending>()
  readonly #checking: ReturnType<typeof setInterval>
  readonly #seconds = new Histogram(SECONDS)
  /** `null` if the server has to be reached first. */
  #connections: Connections | null
  #generation = 0
  #openedAt = performance.now()
  #partner: Pool | null = null
  #connectedAt = Number.NEGATIVE_INFINITY
  #isClosed = false

  constructor(address: PostgresAddress, options: PoolOptions) {
    this.#address = address
    this.#options = options
    this.#connections = this.#open()
    this.#checking = setInterval(() => this.#rejectOverdue(), CHECK_INTERVAL_MS)
  }

  /** Opens two pools for the same server. If the connections of one are replaced, so are those of the other. */
  static pair(address: PostgresAddress, options: PoolOptions): readonly [Pool, Pool] {
    const [one, other] = [new Pool(address, options), new Pool(address, options)]
    one.#partner = other
    other.#partner = one
    return [one, other]
  }

  /** The time at which the newest connection was opened: every other connection is older. */
  get connectedAt(): number {
    return this.#connectedAt
  }

  /** The number of statements and transactions in progress. */
  get inProgress(): number {
    return this.#pending.size
  }

  /** Counts: current, and since the start. */
  get figures() {
    return { connectionsMax: this.#options.connections, inProgress: this.inProgress, seconds: this.#seconds }
  }

  /** Rejects with a `SQL.PostgresError` or a `TimeLimitError`. */
  query<Row>(sql: string, ...parameters: Parameter[]): Promise<Row[]> {
    return this.#timed(connections => connections.unsafe<Row[]>(sql, parameters))
  }

  /**
   * Runs `work` on one connection, in one transaction. Statements with parameters that `work` does not wait for are sent at once, once
   * the connection has prepared them.
   */
  transaction<Result>(
    work: (query: Query, connection: RawConnection) => Promise<Result>,
    level: IsolationLevel = 'READ COMMITTED',
  ): Promise<Result> {
    return this.#timed(async (connections, pending) => {
      const setLimits = this.#options.isLong ? await this.#setLimits(connections) : null
      return connections.begin(`ISOLATION LEVEL ${level}`, async connection => {
        if (setLimits !== null) await connection.unsafe(setLimits)
        const query: Query = async (sql, ...parameters) => {
          this.#renew(pending)
          return connection.unsafe(sql, parameters)
        }
        return work(query, {
          // Without a list of parameters, Bun uses the simple protocol, which takes several statements.
          runScript: async sql => void (await connection.unsafe(sql)),
          copyOut: sql => connection.unsafe(sql).readable(),
          copyIn: sql => connection.unsafe(sql).writable(),
        })
      })
    })
  }

  /** SQL for the limits of a long transaction: a pooler's connections have those of their user, for short work. */
  async #setLimits(connections: SQL): Promise<string> {
    const known = await connections.unsafe<unknown[]>(HAS_TRANSACTION_TIMEOUT)
    const limits = { ...limitsOf(this.#options), ...(known.length > 0 && { transaction_timeout: 0 }) }
    return Object.entries(limits)
      .map(([name, value]) => `SET LOCAL ${name} = ${value}`)
      .join('; ')
  }

  /** Replaces all connections. Statements in progress end on the old ones. */
  reconnect(): void {
    this.#replace(this.#generation, (this.#options.statementMs + ANSWER_GRACE_MS) / 1_000)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#checking)
    await this.#connections?.sql.close({ timeout: 0 })
  }

  /** Replaces the connections of a generation, unless that has been done. Statements in progress have `seconds` to end. */
  #replace(generation: number, seconds: number): void {
    if (generation !== this.#generation) return
    this.#generation += 1
    this.#connections?.sql.close({ timeout: seconds }).catch(() => {})
    this.#connections = null
    if (this.#partner) this.#partner.#replace(generation, seconds)
  }

  /** Connects lazily. */
  #open(): Connections {
    this.#openedAt = performance.now()
    const generation = this.#generation
    let opened = 0
    const sql = connect(this.#address, this.#options, () => {
      this.#connectedAt = performance.now()
      opened += 1
      // One of them broke and was opened again.
      if (opened > this.#options.connections && generation === this.#generation) this.reconnect()
    })
    return { generation, sql }
  }

  /** Resolves when the server accepts connections. All callers that wait share the tries. */
  readonly #reached = shared(async () => {
    if (!this.#connections && !this.#isClosed) await reach(this.#address, this.#options)
    // A read whose connection is closed is tried again.
    if (this.#isClosed) throw new DatabaseUnavailableError('the database is closed')
    if (this.#connections) return this.#connections
    this.#connections = this.#open()
    // All at the same time, so that they lead to the same server.
    this.#connections.sql.connect().catch(() => {})
    if (this.#partner) this.#partner.#reached().catch(() => {})
    return this.#connections
  })

  #timed<Result>(work: (connections: SQL, pending: Pending) => Promise<Result>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const since = performance.now()
      const pending: Pending = { limitedSince: since, generation: null, reject }
      const timeline = currentTimeline()
      this.#pending.add(pending)
      const ended = () => {
        this.#pending.delete(pending)
        timeline?.add('statement', since)
        this.#seconds.observe((performance.now() - since) / 1_000)
      }
      const run = ({ generation, sql }: Connections) => {
        // Its caller has been told that it failed.
        if (!this.#pending.has(pending)) throw new TimeLimitError('no connection in time')
        pending.generation = generation
        return work(sql, pending)
      }
      const working = this.#connections ? run(this.#connections) : this.#reached().then(run)
      working.then(
        result => {
          ended()
          resolve(result)
        },
        error => {
          ended()
          if (pending.generation !== null) this.#follow(pending.generation, failureOf(error))
          reject(error)
        },
      )
    })
  }

  /** Replaces the connections of a statement that failed, if the address may lead elsewhere by now. */
  #follow(generation: number, failure: Failure): void {
    if (generation !== this.#generation || !MAY_HAVE_MOVED.has(failure)) return
    const isAnswered = failure === 'standby' || failure === 'read-only'
    if (isAnswered && performance.now() - this.#openedAt < MOVE_INTERVAL_MS) return
    this.reconnect()
  }

  /** Starts the time limit again, unless it has passed. */
  #renew(pending: Pending): void {
    if (!this.#pending.delete(pending)) return
    pending.limitedSince = performance.now()
    this.#pending.add(pending)
  }

  #rejectOverdue(): void {
    const limitMs = this.#options.statementMs + ANSWER_GRACE_MS
    const before = performance.now() - limitMs
    // The oldest first.
    for (const pending of this.#pending) {
      if (pending.limitedSince > before) break
      this.#pending.delete(pending)
      pending.reject(new TimeLimitError(`no answer within ${limitMs / 1_000} s`))
      if (pending.generation !== null) this.#replace(pending.generation, 0)
    }
  }
}
