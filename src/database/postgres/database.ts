import { setTimeout as wait } from 'node:timers/promises'
import { getLogger } from '@logtape/logtape'
import { errorMessage } from '../../error-message.ts'
import { COUNTS, type Distribution, Histogram } from '../../metrics/histogram.ts'
import { OperatorError } from '../../operator-error.ts'
import { DatabaseUnavailableError } from '../errors.ts'
import type { Migrations } from '../migrations.ts'
import type { PostgresAddress } from './address.ts'
import { Batch } from './batch.ts'
import { Changes, stateOn } from './changes.ts'
import { type Failure, failureOf, isDiskFull, isUnsupportedParameter, TimeLimitError, translated } from './failure.ts'
import { isMigrated, migrate } from './migrate.ts'
import { type Parameter, Pool, type PoolFigures, type Query, type RawConnection } from './pool.ts'
import { Readiness } from './readiness.ts'
import { Replicas } from './replicas.ts'

const log = getLogger(['stockroom', 'database'])

/** Statement timeout. */
export const STATEMENT_MS = 5_000

/** Lock timeout of writes. */
export const LOCK_MS = 1_000

/** Limit on statements in progress; further ones are rejected. */
const IN_PROGRESS_MAX = 8_192

/** How often a read is tried if its connection breaks. A read that times out is not retried. */
const READ_TRIES = 3
/** No read is retried later than this after its first try, so that retries take no longer than one slow statement. */
const READ_RETRY_MAX_MS = 1_000

/** How often a write is tried if it conflicts with others. The random pause before a retry doubles its limit each time. */
const CONFLICT_TRIES = 10
const CONFLICT_PAUSE_MS = 4

/** Timeout of migrations and bulk work, enough for tables of any size. */
const BULK_MS = 86_400_000

/** Statement timeout to detect a pooler with: if it does not read back, a pooler is in between. An unlikely default. */
const DETECTION_TIMEOUT_MS = 4_999

/** Failures after which a read is retried. */
const READ_RETRIES: ReadonlySet<Failure> = new Set(['lost', 'conflict'])

/** Failures at startup after which waiting is pointless. */
const ENDS_WAITING: ReadonlySet<Failure> = new Set(['denied', 'fault'])

/** The pause between two tries to connect at startup. */
const START_RETRY_MS = 250

export interface PostgresSettings {
  readonly address: PostgresAddress
  /** Streaming replicas of the server at `address`, which answer reads. */
  readonly replicas: readonly PostgresAddress[]
  /** The number of connections to each server. */
  readonly connections: number
  readonly migrations: readonly Migrations[]
  /** How long to keep trying to connect at startup, in milliseconds. */
  readonly waitMs: number
  /** Whether the tables must exist already. By default they are created. */
  readonly mustExist?: boolean
}

/** What the database does, and has done since the start. */
export interface PostgresFigures {
  /** By what they are for. None before the first connection. */
  readonly pools: Readonly<Record<string, PoolFigures>>
  /** Inputs that wait for a statement that they will share. */
  readonly batched: number
  readonly batchSizes: Distribution
  readonly replicasInUse: number
}

interface Servers extends AsyncDisposable {
  readonly primary: Pool
  /** Connections to the same server for reads alone, so that no read queues behind a statement that waits for a lock. */
  readonly reading: Pool
  readonly replicas: Replicas
  readonly isShared: boolean
  /** SQL for the version of the database that a statement reads; `null` if the server cannot tell. */
  readonly state: string | null
}

/** A database on PostgreSQL, or on an engine that speaks its protocol. Any number of processes may share it. */
export class PostgresDatabase implements AsyncDisposable {
  readonly engine = 'postgres'
  /** Resolves when the database is reachable and migrated; rejects with an `OperatorError`. */
  readonly ready: Promise<void>
  /** Tells of changes, unless there are replicas or the server cannot tell. */
  readonly changes = new Changes((sql, ...parameters) => this.read(sql, ...parameters))
  readonly #closing = new AbortController()
  readonly #firstTry = Promise.withResolvers<void>()
  readonly #address: PostgresAddress
  readonly #readiness = new Readiness({ read: sql => this.read(sql), write: sql => this.write(sql) })
  readonly #batches: { readonly waiting: number }[] = []
  readonly #batchSizes = new Histogram(COUNTS)
  #servers: Servers | null = null

  private constructor(settings: PostgresSettings) {
    this.#address = settings.address
    this.ready = this.#start(settings)
    // Callers that wait for `ready` still get the error; closing the database earlier is no unhandled rejection.
    this.ready.catch(() => {})
  }

  /**
   * Connects and applies the missing migrations. If the server is unreachable, it keeps trying in the background: see
   * `ready`. Rejects with an `OperatorError` if the server answers but the database cannot be used.
   */
  static async open(settings: PostgresSettings): Promise<PostgresDatabase> {
    const database = new PostgresDatabase(settings)
    await Promise.race([database.ready, database.#firstTry.promise])
    return database
  }

  get figures(): PostgresFigures {
    const { primary, reading, replicas } = this.#servers ?? {}
    return {
      pools: { ...(primary && { writing: primary.figures }), ...(reading && { reading: reading.figures }) },
      batched: this.#batches.reduce((sum, { waiting }) => sum + waiting, 0),
      batchSizes: this.#batchSizes,
      replicasInUse: replicas?.inUse ?? 0,
    }
  }

  /** Joins concurrent calls into one statement: see `Batch`. */
  batch<Input, Output>(...[run, limits]: ConstructorParameters<typeof Batch<Input, Output>>): Batch<Input, Output> {
    const batch = new Batch(run, limits, this.#batchSizes)
    this.#batches.push(batch)
    return batch
  }

  /**
   * Reads rows from a replica that shows every acknowledged write, or else from the primary. Retries if a connection
   * breaks. Rejects with a `DatabaseUnavailableError`.
   */
  async read<Row>(sql: string, ...parameters: Parameter[]): Promise<Row[]> {
    const { reading, replicas } = this.#usable()
    const rows = await replicas.query<Row>(sql, ...parameters)
    if (rows) return rows
    const triedUntil = performance.now() + READ_RETRY_MAX_MS
    for (let tries = 1; ; tries += 1) {
      try {
        return await reading.query<Row>(sql, ...parameters)
      } catch (error) {
        const isRetryable = READ_RETRIES.has(failureOf(error)) && !(error instanceof TimeLimitError)
        if (!isRetryable || tries === READ_TRIES || performance.now() > triedUntil) throw translated(error)
      }
    }
  }

  /**
   * Writes by one statement, which also checks the rows that it references. Resolves when it is committed and every replica
   * in use shows it. Retries only conflicts, because they were rolled back. Rejects with a `DatabaseUnavailableError`; if
   * the connection broke during the statement, it may have been executed.
   */
  write<Row>(sql: string, ...parameters: Parameter[]): Promise<Row[]> {
    return this.#change(primary => primary.query<Row>(sql, ...parameters))
  }

  /** Resolves while reads and writes succeed; rejects with a `DatabaseUnavailableError`. */
  probe(): Promise<void> {
    return this.#readiness.probe()
  }

  /** Like `write`, for several statements. `work` may be called more than once. */
  transaction<Result>(work: (query: Query) => Promise<Result>): Promise<Result> {
    return this.#change(primary => primary.transaction(work))
  }

  /** Like `transaction`, for work of any length, on a connection of its own and without retries. */
  async bulk<Result>(work: (query: Query, connection: RawConnection) => Promise<Result>): Promise<Result> {
    const { isShared, replicas } = this.#usable()
    await using own = new Pool(this.#address, { connections: 1, statementMs: BULK_MS, lockMs: BULK_MS, isShared })
    try {
      const result = await own.transaction(work)
      await replicas.showAll()
      return result
    } catch (error) {
      throw translated(error)
    }
  }

  /** Resolves when every replica in use shows everything that any of them has shown so far. */
  async shownByReplicas(): Promise<void> {
    await this.#usable().replicas.showAll()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    await this.#servers?.[Symbol.asyncDispose]()
  }

  async #change<Result>(work: (primary: Pool) => Promise<Result>): Promise<Result> {
    const { primary, replicas } = this.#usable()
    for (let tries = 1; ; tries += 1) {
      try {
        const result = await work(primary)
        await replicas.showAll()
        return result
      } catch (error) {
        const failure = failureOf(error)
        // After a failover the server's name leads elsewhere; only new connections follow it.
        if (failure === 'read-only') primary.reconnect()
        if (isDiskFull(error)) this.#readiness.diskWasFull()
        if (failure !== 'conflict' || tries === CONFLICT_TRIES) throw translated(error)
        await wait(Math.random() * CONFLICT_PAUSE_MS * 2 ** tries)
      }
    }
  }

  #usable(): Servers {
    if (!this.#servers) throw new DatabaseUnavailableError('the database cannot be used: not connected yet')
    if (this.#servers.primary.inProgress >= IN_PROGRESS_MAX) {
      throw new DatabaseUnavailableError(`too many statements are in progress (${IN_PROGRESS_MAX})`)
    }
    return this.#servers
  }

  async #start(settings: PostgresSettings): Promise<void> {
    const { place } = settings.address
    const began = performance.now()
    for (let tries = 1; ; tries += 1) {
      try {
        const servers = await connected(settings)
        if (servers.state !== null) this.changes.enable(servers.state)
        this.#servers = servers
        return
      } catch (error) {
        const reason = `the database ${place} cannot be used: ${errorMessage(error)}`
        if (error instanceof OperatorError) throw error
        if (ENDS_WAITING.has(failureOf(error)) || performance.now() - began >= settings.waitMs) {
          throw new OperatorError(reason)
        }
        if (tries === 1) log.warning('{reason}; still trying', { reason })
      }
      this.#firstTry.resolve()
      await wait(START_RETRY_MS, undefined, { signal: this.#closing.signal })
    }
  }
}

async function connected({
  address,
  replicas,
  connections,
  migrations,
  mustExist = false,
}: PostgresSettings): Promise<Servers> {
  const isShared = await isBehindPooler(address)
  {
    await using migrating = new Pool(address, { connections: 1, statementMs: BULK_MS, lockMs: BULK_MS, isShared })
    if (mustExist && !(await isMigrated(migrating))) {
      throw new OperatorError(`the database ${address.place} has no tables of stockroom`)
    }
    await migrate(migrating, migrations, address.place)
  }
  const primary = new Pool(address, { connections, statementMs: STATEMENT_MS, lockMs: LOCK_MS, isShared })
  const reading = new Pool(address, { connections, statementMs: STATEMENT_MS, lockMs: LOCK_MS, isShared })
  const followers = new Replicas(primary, replicas, connections)
  return {
    primary,
    reading,
    replicas: followers,
    isShared,
    state: replicas.length === 0 ? await stateOf(primary) : null,
    [Symbol.asyncDispose]: async () => {
      await followers[Symbol.asyncDispose]()
      await primary[Symbol.asyncDispose]()
      await reading[Symbol.asyncDispose]()
    },
  }
}

/**
 * `null` on engines other than PostgreSQL, and with Citus: if rows are spread over several machines, no single snapshot
 * tells of all changes.
 */
async function stateOf(primary: Pool): Promise<string | null> {
  const [engine] = await primary.query<{ version: string; isDistributed: boolean }>(`
    SELECT version() AS version, EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS "isDistributed"`)
  const version = /^PostgreSQL (\d+)(\.\d+)? (?!.*-YB-)/.exec(engine?.version ?? '')
  if (!version || engine?.isDistributed) return null
  const state = stateOn(Number(version[1]))
  try {
    await primary.query(`SELECT ${state}`)
    return state
  } catch (error) {
    // Some providers do not let ordinary users call one of the functions.
    if (failureOf(error) !== 'fault') throw error
    log.info('the cache is off: {reason}', { reason: errorMessage(error) })
    return null
  }
}

/**
 * Detects a pooler that shares connections between transactions, such as PgBouncer: it refuses the settings of a new
 * connection, or drops them. Behind one, statements must not be prepared, because a prepared statement's name may mean
 * another statement on the next connection.
 */
async function isBehindPooler(address: PostgresAddress): Promise<boolean> {
  const settings =
    "SELECT current_setting('statement_timeout') AS limit, current_setting('server_encoding') AS encoding"
  await using asking = new Pool(address, {
    connections: 1,
    statementMs: DETECTION_TIMEOUT_MS,
    lockMs: DETECTION_TIMEOUT_MS,
    isShared: false,
    isPrepared: false,
  })
  try {
    const [found] = await asking.query<{ limit: string; encoding: string }>(settings)
    if (found?.encoding !== 'UTF8')
      throw new OperatorError(`the database ${address.place} is not encoded in UTF-8; create it with ENCODING 'UTF8'`)
    return found.limit !== `${DETECTION_TIMEOUT_MS}ms`
  } catch (error) {
    if (isUnsupportedParameter(error)) return true
    throw error
  }
}
