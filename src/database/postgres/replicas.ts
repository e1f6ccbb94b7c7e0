import { setTimeout as wait } from 'node:timers/promises'
import { getLogger } from '@logtape/logtape'
import { systemClock, within } from '../../clock.ts'
import { errorMessage } from '../../program/error-message.ts'
import type { PostgresAddress } from './address.ts'
import { type Parameter, Pool } from './pool.ts'
import { onStandby } from './roles.ts'
import { reasonOf } from './unreachable.ts'

const log = getLogger(['stockroom', 'database'])

/** Maximum lag of a replica that serves reads. A write waits at most this long for replicas before it is acknowledged. */
const LAG_MAX_MS = 1_000

/** A replica that comes back serves no reads for this long: by then every node has noticed, and waits for it. */
const RETURN_MS = LAG_MAX_MS

/** After the start, a replica has this long to be ready for reads. If it is not by then, the log says why. */
const FIRST_USE_MS = 2_000

/** How often each replica's position is checked, and how often while a write waits for it. */
const CHECK_INTERVAL_MS = 100
const CHECK_INTERVAL_WRITING_MS = 2

/** Statement timeout on a replica; after that, the primary is asked. */
const REPLICA_STATEMENT_MS = 1_500

/** The primary's position in its write-ahead log, in bytes. */
interface Position {
  readonly askedAt: number
  readonly bytes: bigint
}

interface Replica {
  readonly address: PostgresAddress
  readonly pool: Pool
  /** The primary's positions during the last `LAG_MAX_MS`. */
  positions: Position[]
  /** It shows every commit before this moment, unless it has restarted since. */
  freshAsOf: number
  /** The last time that it became fresh. */
  returnedAt: number
  /** Resolved when it has to be checked soon, because a write waits for it. */
  awaited: PromiseWithResolvers<void>
}

/**
 * Streaming replicas that answer reads. All nodes follow one rule: a replica serves reads only while it is known to lag by
 * less than `LAG_MAX_MS`, and a write is acknowledged when every replica in use shows it, or after `LAG_MAX_MS`. So every
 * read, on any node, sees every acknowledged write.
 *
 * After a crash, a replica shows an older state for a while. But a crash also breaks all its connections, so a position is
 * trusted only on connections that are older than it.
 */
export class Replicas implements AsyncDisposable {
  readonly #primary: Pool
  readonly #replicas: readonly Replica[]
  readonly #followed: Promise<unknown>
  readonly #startedAt = performance.now()
  #turn = 0
  #isClosing = false

  constructor(primary: Pool, addresses: readonly PostgresAddress[], connections: number) {
    this.#primary = primary
    this.#replicas = addresses.map(address => ({
      address,
      pool: new Pool(address, {
        connections,
        statementMs: REPLICA_STATEMENT_MS,
      }),
      positions: [],
      freshAsOf: Number.NEGATIVE_INFINITY,
      returnedAt: Number.POSITIVE_INFINITY,
      awaited: Promise.withResolvers(),
    }))
    this.#followed = Promise.all(this.#replicas.map(replica => this.#follow(replica)))
  }

  /** How many there are, whether they can be used or not. */
  get count(): number {
    return this.#replicas.length
  }

  get inUse(): number {
    return this.#replicas.filter(isUsable).length
  }

  /** Queries the replicas in turn. Resolves to `null` if none of them can be used. */
  async query<Row>(sql: string, ...parameters: Parameter[]): Promise<Row[] | null> {
    const replica = this.#choose()
    if (!replica) return null
    const { freshAsOf } = replica
    try {
      const rows = await replica.pool.query<Row>(onStandby(sql), ...parameters)
      // A newer connection may lead to a replica that has restarted.
      return replica.pool.connectedAt <= freshAsOf ? rows : null
    } catch (error) {
      // The caller asks the primary instead, which reports the error again unless only the replica has it.
      log.debug('the replica {place} did not answer: {reason}', {
        place: replica.address.place,
        reason: errorMessage(error),
      })
      return null
    }
  }

  /** Resolves when all replicas in use show every commit made before this call. */
  async showAll(): Promise<void> {
    const committed = performance.now()
    // A replica that was out of use is used by no node before this node has noticed that it is back.
    const lags = ({ freshAsOf }: Replica) =>
      freshAsOf < committed && Math.max(freshAsOf, this.#startedAt) > committed - 2 * LAG_MAX_MS
    while (this.#replicas.some(lags) && performance.now() - committed < LAG_MAX_MS) {
      for (const replica of this.#replicas) if (lags(replica)) replica.awaited.resolve()
      await wait(CHECK_INTERVAL_WRITING_MS)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true
    for (const { awaited } of this.#replicas) awaited.resolve()
    for (const { pool } of this.#replicas) await pool[Symbol.asyncDispose]()
    await this.#followed
  }

  #choose(): Replica | null {
    if (this.#replicas.length === 0) return null
    const usable = this.#replicas.filter(isUsable)
    this.#turn += 1
    return usable[this.#turn % usable.length] ?? null
  }

  async #follow(replica: Replica): Promise<void> {
    const { address } = replica
    const { place } = address
    /** Whether it serves reads, by the last line in the log; `null` before the first one. */
    let serves: boolean | null = null
    while (!this.#isClosing) {
      const trouble = await this.#check(replica).catch((error: unknown) => error)
      const isDue = serves ?? performance.now() - this.#startedAt > FIRST_USE_MS
      if (isUsable(replica) && serves !== true) {
        serves = true
        log.info('the replica {place} serves reads', { place })
      } else if (trouble !== null && !isFresh(replica) && isDue && !this.#isClosing) {
        serves = false
        log.warning('the replica {place} serves no reads: {reason}', {
          place,
          reason: await reasonOf(trouble, address),
        })
      }
      await this.#pause(replica)
    }
  }

  /** Waits until the next check, which comes sooner while a write waits. */
  async #pause(replica: Replica): Promise<void> {
    const soon = replica.awaited.promise.then(() => wait(CHECK_INTERVAL_WRITING_MS))
    await within(systemClock, CHECK_INTERVAL_MS, soon)
    replica.awaited = Promise.withResolvers()
  }

  /**
   * Asks the primary first, so that the replica is compared with an earlier position of the primary. Resolves to `null` if the
   * replica shows what it has to, else to the reason.
   */
  async #check(replica: Replica): Promise<string | null> {
    const askedAt = performance.now()
    const asking = this.#primary.query<{ bytes: string }>(
      "SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::text AS bytes",
    )
    const [primary] = await asking.catch(() => [])
    if (!primary) return 'the primary does not answer'
    replica.positions.push({ askedAt, bytes: BigInt(primary.bytes) })
    replica.positions = replica.positions.filter(position => position.askedAt > askedAt - LAG_MAX_MS)
    const [follower] = await replica.pool.query<{ bytes: string | null }>(
      "SELECT CASE WHEN pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::text END AS bytes",
    )
    if (!follower?.bytes) return 'it is not a standby'
    const replayed = BigInt(follower.bytes)
    const reached = replica.positions.findLast(position => position.bytes <= replayed)
    if (!reached) return 'it lags'
    if (!isFresh(replica)) replica.returnedAt = performance.now()
    replica.freshAsOf = reached.askedAt
    return isFresh(replica) ? null : 'it answers too slowly'
  }
}

function isUsable(replica: Replica): boolean {
  return (
    isFresh(replica) &&
    replica.pool.connectedAt <= replica.freshAsOf &&
    performance.now() - replica.returnedAt >= RETURN_MS
  )
}

function isFresh({ freshAsOf }: Replica): boolean {
  return performance.now() - freshAsOf < LAG_MAX_MS
}
