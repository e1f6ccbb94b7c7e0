import { setTimeout as wait } from 'node:timers/promises'
import { BusyError } from '../../limits/busy-error.ts'
import { DatabaseUnavailableError } from '../errors.ts'
import type { PostgresAddress } from './address.ts'
import { Batch, BatchFigures, type BatchLimits, type RunBatch } from './batch.ts'
import { Changes } from './changes.ts'
import { inTime, ServerClock } from './deadline.ts'
import { type Failure, failureOf, isDiskFull, translated } from './failure.ts'
import { PlannedReads } from './planned-reads.ts'
import { ANSWER_GRACE_MS, type Parameter, Pool, type Query, type RawConnection } from './pool.ts'
import { readinessOf } from './readiness.ts'
import { onPrimary } from './roles.ts'
import { BULK_MS, connectInTime, type PostgresSettings, type Servers, STATEMENT_MS } from './servers.ts'

/** Limit on statements in progress; further ones are rejected. */
const IN_PROGRESS_MAX = 8_192

/** Limit on the tries of a read whose connection breaks. */
const READ_TRIES = 3
/**
 * No read is retried later than this after its first try, so that retries take no longer than one slow statement, and a read that
 * times out is not retried.
 */
const READ_RETRY_MAX_MS = 1_000

/** Limit on the tries of a write that conflicts with others. The random pause before a retry doubles its limit each time. */
const CONFLICT_TRIES = 10
const CONFLICT_PAUSE_MS = 4

/** Failures after which a read is retried. */
const READ_RETRIES: ReadonlySet<Failure> = new Set(['lost', 'worker', 'conflict', 'standby'])

/** Failures after which a write is retried, because it was not done. */
const WRITE_RETRIES: ReadonlySet<Failure> = new Set(['conflict', 'referred', 'late', 'worker'])

/**
 * Failures after which a write is tried twice. A lost worker may be back, and the coordinator has to connect to it again. On Citus,
 * somebody may just have created a row that refers to the one being deleted.
 */
const TRIED_TWICE: ReadonlySet<Failure> = new Set(['worker', 'referred'])

/** The pause before a read that has met a standby is retried: it may be promoted, or the address may change. */
const STANDBY_PAUSE_MS = 100

/** A write that has not begun by then is refused: this process has told its client that it failed. */
const WRITE_BEGINS_MS = STATEMENT_MS + ANSWER_GRACE_MS

/** How often a table was read in one way. A read on several shards costs as much as on each of them. */
interface ShardReads {
  readonly table: string
  readonly shards: 'one' | 'several'
  number: number
}

export type PostgresFigures = PostgresDatabase['figures']

/** A database on PostgreSQL. Any number of processes may share it. */
export class PostgresDatabase implements AsyncDisposable {
  readonly engine = 'postgres'
  /** Resolves when the database is reachable and migrated; rejects with an `OperatorError`. */
  readonly ready: Promise<void>
  /** Tells of changes, unless there are replicas or the server cannot tell. */
  readonly changes = new Changes((sql, ...parameters) => this.readPrimary(sql, ...parameters))
  readonly #closing = new AbortController()
  readonly #firstTry = Promise.withResolvers<void>()
  readonly #address: PostgresAddress
  readonly #planned: PlannedReads
  readonly #readiness = readinessOf(this)
  readonly #clock = new ServerClock()
  readonly #batches = new BatchFigures()
  readonly #shardReads: ShardReads[] = []
  #servers: Servers | null = null

  private constructor(settings: PostgresSettings) {
    this.#address = settings.address
    // One connection is left for all other reads, which would wait for these.
    this.#planned = new PlannedReads(Math.max(1, settings.connections - 1), work =>
      this.#retried(reading => reading.transaction(work, 'REPEATABLE READ')),
    )
    this.ready = this.#start(settings)
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

  /** Counts: current, and since the start. */
  get figures() {
    const { primary, reading, replicas } = this.#servers ?? {}
    return {
      /** By purpose. None before the first connection. */
      pools: { ...(primary && { writing: primary.figures }), ...(reading && { reading: reading.figures }) },
      /** Inputs that wait for a statement that they will share. */
      batched: this.#batches.waiting,
      batchSizes: this.#batches.sizes,
      replicas: replicas?.count ?? 0,
      replicasInUse: replicas?.inUse ?? 0,
      /** On Citus, the reads of each table by the shards that they ask. */
      shardReads: this.#shardReads,
    }
  }

  /** Whether Citus distributes the tables over several servers. Known when it is `ready`. */
  get isDistributed(): boolean {
    return this.#usable().isDistributed
  }

  /** Joins concurrent calls into one statement: see `Batch`. */
  batch<Input, Output>(run: RunBatch<Input, Output>, limits?: BatchLimits): Batch<Input, Output> {
    return new Batch(run, limits, this.#batches)
  }

  /**
   * Reads rows from a replica that shows every acknowledged write, or else from the primary. Retries if a connection
   * breaks. Rejects with a `DatabaseUnavailableError`. `sql` is a query that can be part of another one.
   */
  async read<Row>(sql: string, ...parameters: Parameter[]): Promise<Row[]> {
    const { replicas } = this.#usable()
    return (await replicas.query<Row>(sql, ...parameters)) ?? this.readPrimary(sql, ...parameters)
  }

  /** Like `read`, without replicas. Never shows what a standby has. */
  readPrimary<Row>(sql: string, ...parameters: Parameter[]): Promise<Row[]> {
    return this.#retried(reading => reading.query<Row>(onPrimary(sql), ...parameters))
  }

  /** Like `readPrimary`, for statements on one snapshot whose best plans depend on their parameters. `work` may be called again. */
  readPlanned<Result>(work: (query: Query) => Promise<Result>): Promise<Result> {
    return this.#planned.read(work)
  }

  /**
   * Reads rows of a table that Citus has on one shard. It does not look whether the coordinator is a standby: the rows come from a
   * worker, and within another query, Citus might write their result to a file on each server first.
   */
  readShard<Row>(table: string, sql: string, ...parameters: Parameter[]): Promise<Row[]> {
    this.#countShardRead(table, 'one')
    return this.#retried(reading => reading.query<Row>(sql, ...parameters))
  }

  /**
   * Reads rows of a table that Citus has on several shards, by statements of one transaction. Statements that `work` does not wait
   * for are sent at once. `work` may be called again.
   */
  readTogether<Result>(table: string, work: (query: Query) => Promise<Result>): Promise<Result> {
    this.#countShardRead(table, 'several')
    return this.#retried(reading => reading.transaction(work))
  }

  #countShardRead(table: string, shards: ShardReads['shards']): void {
    const known = this.#shardReads.find(read => read.table === table && read.shards === shards)
    if (known) known.number += 1
    else this.#shardReads.push({ table, shards, number: 1 })
  }

  async #retried<Result>(read: (reading: Pool) => Promise<Result>): Promise<Result> {
    const { reading } = this.#usable()
    const triedUntil = performance.now() + READ_RETRY_MAX_MS
    for (let tries = 1; ; tries += 1) {
      try {
        return await read(reading)
      } catch (error) {
        const failure = failureOf(error)
        const isLast = failure !== 'standby' && tries === READ_TRIES
        if (!READ_RETRIES.has(failure) || isLast || performance.now() > triedUntil) throw translated(error)
        if (failure === 'standby') await wait(STANDBY_PAUSE_MS)
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

  /**
   * Like `write`, for a SELECT whose WITH writes: the server refuses it if it begins when nobody waits for it any more. A
   * transaction needs no deadline, because its next statement is only sent when the server has answered the one before.
   */
  writeInTime<Row>(sql: string, ...parameters: Parameter[]): Promise<Row[]> {
    return this.#change(async primary => {
      if (!this.#clock.isKnown(primary)) await this.#clock.read(primary)
      return primary.query<Row>(inTime(sql, parameters.length + 1), ...parameters, this.#clock.in(WRITE_BEGINS_MS))
    })
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
  async bulk<Result>(
    work: (query: Query, connection: RawConnection) => Promise<Result>,
    statementMs = BULK_MS,
  ): Promise<Result> {
    const { primary, replicas } = this.#usable()
    await using own = new Pool(this.#address, { connections: 1, statementMs, isLong: true })
    try {
      const result = await own.transaction(work)
      await replicas.showAll()
      return result
    } catch (error) {
      if (failureOf(error) === 'read-only') primary.reconnect()
      throw translated(error)
    }
  }

  /** Runs a statement of any length that cannot be part of a transaction. */
  async alone(sql: string): Promise<void> {
    await using own = new Pool(this.#address, { connections: 1, statementMs: BULK_MS })
    await own.query(sql)
  }

  /** Resolves when every replica in use shows everything that any of them has shown so far. */
  async shownByReplicas(): Promise<void> {
    await this.#usable().replicas.showAll()
  }

  /** Replaces all connections to the primary, because they may lead to different servers. */
  reconnect(): void {
    this.#usable().primary.reconnect()
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
        if (isDiskFull(error)) this.#readiness.diskWasFull()
        const triesMax = TRIED_TWICE.has(failure) ? 2 : CONFLICT_TRIES
        if (!WRITE_RETRIES.has(failure) || tries >= triesMax) throw translated(error)
        if (failure === 'late') this.#clock.forget()
        else await wait(Math.random() * CONFLICT_PAUSE_MS * 2 ** tries)
      }
    }
  }

  #usable(): Servers {
    if (!this.#servers) throw new DatabaseUnavailableError('the database cannot be used: not connected yet')
    if (this.#servers.primary.inProgress >= IN_PROGRESS_MAX) throw new BusyError('Too many statements are in progress')
    return this.#servers
  }

  async #start(settings: PostgresSettings): Promise<void> {
    const servers = await connectInTime(settings, this.#closing.signal, this.#firstTry.resolve)
    // It was closed meanwhile.
    if (this.#closing.signal.aborted) return await servers[Symbol.asyncDispose]()
    if (servers.state !== null) this.changes.enable(servers.state)
    this.#servers = servers
  }
}
