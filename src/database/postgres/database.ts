import { setTimeout as wait } from 'node:timers/promises'
import { getLogger } from '@logtape/logtape'
import { errorMessage } from '../../error-message.ts'
import { OperatorError } from '../../operator-error.ts'
import { DatabaseUnavailableError } from '../errors.ts'
import type { Migrations } from '../migrations.ts'
import type { PostgresAddress } from './address.ts'
import { Changes, stateOn } from './changes.ts'
import { type Failure, failureOf, isDiskFull, isUnsupportedParameter, TimeLimitError, translated } from './failure.ts'
import { isMigrated, migrate } from './migrate.ts'
import { type Parameter, Pool, type Query, type RowStreams } from './pool.ts'
import { Readiness } from './readiness.ts'
import { Replicas } from './replicas.ts'

const log = getLogger(['stockroom', 'database'])

/** How long the server may work on one statement; a client hears of it after that. */
export const STATEMENT_MS = 5_000

/** How long a write waits for rows that others hold. */
export const LOCK_MS = 1_000

/** Statements that wait for their answer; one more is turned away. */
const WAITING_MAX = 8_192

/** A read whose connection broke is done again, on another one. One that took too long is not. */
const READ_TRIES = 3
/** Not later than this after it was first asked for, so that tries do not add up to more than one may take. */
const READ_AGAIN_MS = 1_000

/** A write that lost against others is done again, after a pause of up to so long, doubled each time. */
const CONFLICT_TRIES = 10
const CONFLICT_PAUSE_MS = 4

/** Migrations and bulk work do not take longer, on tables of any size. */
const BULK_MS = 86_400_000

/** Told to the server in the first connection, to see whether it takes what is asked. Not a whole number of seconds. */
const PROBE_MS = 4_999

/** What says nothing of the next try to read. */
const REPEATABLE: ReadonlySet<Failure> = new Set(['lost', 'conflict'])

const ENDS_WAITING: ReadonlySet<Failure> = new Set(['refused', 'fault'])

/** The time between two tries to reach a database that is not there at the start. */
const START_RETRY_MS = 250

export interface PostgresSettings {
  readonly address: PostgresAddress
  /** Servers that follow the one at `address` and answer reads in its place. */
  readonly replicas: readonly PostgresAddress[]
  /** Connections to each server. */
  readonly connections: number
  /** What brings the tables up to date. */
  readonly migrations: readonly Migrations[]
  /** How long a database that is not there is waited for at the start, in milliseconds. */
  readonly waitMs: number
  /** Whether its tables must be there already; otherwise they are made. */
  readonly mustExist?: boolean
}

interface Servers extends AsyncDisposable {
  readonly primary: Pool
  /** The same server, over connections on which nothing waits for a lock. */
  readonly reading: Pool
  readonly replicas: Replicas
  readonly isShared: boolean
  /** SQL that tells at which state of the database a statement reads; `null` if none can. */
  readonly state: string | null
}

/** A PostgreSQL database, or one that speaks its protocol, for this process and any number of others. */
export class PostgresDatabase implements AsyncDisposable {
  readonly engine = 'postgres'
  /** Resolves when the database is there and its tables are up to date; rejects with an `OperatorError`. */
  readonly ready: Promise<void>
  /** Where no replicas are asked, and the engine counts all changes in one place. */
  readonly changes = new Changes(sql => this.read(sql))
  readonly #closing = new AbortController()
  readonly #firstTry = Promise.withResolvers<void>()
  readonly #address: PostgresAddress
  readonly #readiness = new Readiness({ read: sql => this.read(sql), write: sql => this.write(sql) })
  #servers: Servers | null = null

  private constructor(settings: PostgresSettings) {
    this.#address = settings.address
    this.ready = this.#start(settings)
    // Who waits for it hears of it; who closes the database before does not.
    this.ready.catch(() => {})
  }

  /**
   * Opens the database and brings its tables up to date. Where it is not there yet, it is waited for in the background:
   * see `ready`. Rejects with an `OperatorError` when it is there and cannot be used.
   */
  static async open(settings: PostgresSettings): Promise<PostgresDatabase> {
    const database = new PostgresDatabase(settings)
    await Promise.race([database.ready, database.#firstTry.promise])
    return database
  }

  /**
   * Asks for rows, at a replica where there is one that shows all that was acknowledged. Done again when a connection
   * breaks. Rejects with a `DatabaseUnavailableError`.
   */
  async read<Row>(sql: string, ...parameters: Parameter[]): Promise<Row[]> {
    const { reading, replicas } = this.#usable()
    const rows = await replicas.query<Row>(sql, ...parameters)
    if (rows) return rows
    const triedUntil = performance.now() + READ_AGAIN_MS
    for (let tries = 1; ; tries += 1) {
      try {
        return await reading.query<Row>(sql, ...parameters)
      } catch (error) {
        const isWorthAnother = REPEATABLE.has(failureOf(error)) && !(error instanceof TimeLimitError)
        if (!isWorthAnother || tries === READ_TRIES || performance.now() > triedUntil) throw translated(error)
      }
    }
  }

  /**
   * Changes rows by one statement, which looks for all that it refers to. Resolves when that is committed, and shown
   * by every replica that is read from. Done again only where it surely was not done: when it lost against others.
   * Rejects with a `DatabaseUnavailableError`; where the connection broke amid it, it may have been done.
   */
  write<Row>(sql: string, ...parameters: Parameter[]): Promise<Row[]> {
    return this.#change(primary => primary.query<Row>(sql, ...parameters))
  }

  /** Resolves while reads and writes can be done; rejects with a `DatabaseUnavailableError`. */
  probe(): Promise<void> {
    return this.#readiness.probe()
  }

  /** As `write`, for what takes several statements. `work` may be called more than once. */
  transaction<Result>(work: (query: Query) => Promise<Result>): Promise<Result> {
    return this.#change(primary => primary.transaction(work))
  }

  /** As `transaction`, for work of any length, on a connection of its own; it is done once. */
  async bulk<Result>(work: (query: Query, rows: RowStreams) => Promise<Result>): Promise<Result> {
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

  /** Resolves when every replica that is read from shows what any of them has shown so far. */
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
        // The name of the server leads elsewhere by now; only new connections follow it.
        if (failure === 'misled') primary.reconnect()
        if (isDiskFull(error)) this.#readiness.diskWasFull()
        if (failure !== 'conflict' || tries === CONFLICT_TRIES) throw translated(error)
        await wait(Math.random() * CONFLICT_PAUSE_MS * 2 ** tries)
      }
    }
  }

  #usable(): Servers {
    if (!this.#servers) throw new DatabaseUnavailableError('the database cannot be used: it is not there yet')
    if (this.#servers.primary.waiting >= WAITING_MAX) {
      throw new DatabaseUnavailableError(`${WAITING_MAX} statements are waiting already`)
    }
    return this.#servers
  }

  async #start(settings: PostgresSettings): Promise<void> {
    const { place } = settings.address
    const began = performance.now()
    for (let tries = 1; ; tries += 1) {
      try {
        const servers = await connected(settings)
        if (servers.state !== null) this.changes.begin(servers.state)
        this.#servers = servers
        return
      } catch (error) {
        const reason = `the database ${place} cannot be used: ${errorMessage(error)}`
        if (error instanceof OperatorError) throw error
        if (ENDS_WAITING.has(failureOf(error)) || performance.now() - began >= settings.waitMs) {
          throw new OperatorError(reason)
        }
        if (tries === 1) log.warning('{reason}; it is waited for', { reason })
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

/** `null` but for PostgreSQL itself; engines that spread rows over machines have no one count of transactions for all of them. */
async function stateOf(primary: Pool): Promise<string | null> {
  const [engine] = await primary.query<{ version: string; isSpread: boolean }>(`
    SELECT version() AS version, EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS "isSpread"`)
  const version = /^PostgreSQL (\d+)(\.\d+)? (?!.*-YB-)/.exec(engine?.version ?? '')
  if (!version || engine?.isSpread) return null
  const state = stateOn(Number(version[1]))
  try {
    await primary.query(`SELECT ${state}`)
    return state
  } catch (error) {
    // A provider may keep one of the functions from plain users.
    if (failureOf(error) !== 'fault') throw error
    log.info('what was read is not cached: {reason}', { reason: errorMessage(error) })
    return null
  }
}

/**
 * Whether something stands before the server that shares its connections between transactions, as PgBouncer does. It
 * refuses the settings that we ask for a connection, or drops them. Statements must not be prepared then: the name of
 * one would mean another's statement on another connection.
 */
async function isBehindPooler(address: PostgresAddress): Promise<boolean> {
  const settings =
    "SELECT current_setting('statement_timeout') AS limit, current_setting('server_encoding') AS encoding"
  await using asking = new Pool(address, {
    connections: 1,
    statementMs: PROBE_MS,
    lockMs: PROBE_MS,
    isShared: false,
    isPrepared: false,
  })
  try {
    const [found] = await asking.query<{ limit: string; encoding: string }>(settings)
    if (found?.encoding !== 'UTF8') throw new OperatorError(`${address.place} is not encoded in UTF-8`)
    return found.limit !== `${PROBE_MS}ms`
  } catch (error) {
    if (isUnsupportedParameter(error)) return true
    throw error
  }
}
