import { setTimeout as wait } from 'node:timers/promises'
import { getLogger } from '@logtape/logtape'
import { errorMessage } from '../../error-message.ts'
import type { PostgresAddress } from './address.ts'
import { type Parameter, Pool } from './pool.ts'

const log = getLogger(['stockroom', 'database'])

/** How far a replica may lag and still be read from. No write is acknowledged before each node sees it, or so late. */
const LAG_MAX_MS = 1_000

/** How long a replica that has come back is not read from, so that every node knows of it and waits for it. */
const RETURN_MS = LAG_MAX_MS

/** How often each replica is asked how far it is, and how often while a write waits for it. */
const CHECK_MS = 100
const CHECK_SOON_MS = 2

/** How long a replica may work on one statement, before the primary is asked. */
const STATEMENT_MS = 1_500

/** How far the primary had come when it was asked: in bytes of its log. */
interface Position {
  readonly askedAt: number
  readonly bytes: bigint
}

interface Replica {
  readonly place: string
  readonly pool: Pool
  /** The primary's, of the last `LAG_MAX_MS`. */
  positions: Position[]
  /** It shows all that was committed before this moment, unless it has started again since. */
  freshAsOf: number
  /** When it was last found to be fresh again, or for the first time. */
  returnedAt: number
}

/**
 * Streaming replicas that answer reads. The rule on all nodes: a replica is read from as long as it is known to show all
 * that was committed `LAG_MAX_MS` ago; and a write is acknowledged when every replica in use shows it, or when it is
 * older than `LAG_MAX_MS`. So whatever was acknowledged is seen, on whichever node it is asked for.
 *
 * A replica that recovers from a crash shows its past for a while, and a crash ends all its connections. So what is known
 * of a replica counts only for connections that were there before it was found out: those saw no crash since.
 */
export class Replicas implements AsyncDisposable {
  readonly #primary: Pool
  readonly #replicas: readonly Replica[]
  readonly #closing = new AbortController()
  readonly #followed: Promise<unknown>
  readonly #startedAt = performance.now()
  #turn = 0
  #hurry = Promise.withResolvers<void>()

  constructor(primary: Pool, addresses: readonly PostgresAddress[], connections: number) {
    this.#primary = primary
    this.#replicas = addresses.map(address => ({
      place: address.place,
      pool: new Pool(address, { connections, statementMs: STATEMENT_MS, lockMs: STATEMENT_MS, isShared: false }),
      positions: [],
      freshAsOf: Number.NEGATIVE_INFINITY,
      returnedAt: Number.POSITIVE_INFINITY,
    }))
    this.#followed = Promise.all(this.#replicas.map(replica => this.#follow(replica)))
  }

  /** Asks the replicas in turn. `null` when none of them can be read from. */
  async query<Row>(sql: string, ...parameters: Parameter[]): Promise<Row[] | null> {
    const replica = this.#choose()
    if (!replica) return null
    const { freshAsOf } = replica
    try {
      const rows = await replica.pool.query<Row>(sql, ...parameters)
      // The rows may have come over a new connection, from a replica that has started again.
      return replica.pool.connectedAt <= freshAsOf ? rows : null
    } catch (error) {
      // Whatever it is, the primary is asked, and says it again if it is not the replica's alone.
      log.debug('the replica {place} did not answer: {reason}', {
        place: replica.place,
        reason: errorMessage(error),
      })
      return null
    }
  }

  /** Resolves when what was committed before is shown by all that is read from. */
  async showAll(): Promise<void> {
    const committed = performance.now()
    // One that was out of use before is not read from by any node until this one knows of its return.
    const lags = ({ freshAsOf }: Replica) =>
      freshAsOf < committed && Math.max(freshAsOf, this.#startedAt) > committed - 2 * LAG_MAX_MS
    while (this.#replicas.some(lags) && performance.now() - committed < LAG_MAX_MS) {
      this.#hurry.resolve()
      await wait(CHECK_SOON_MS)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
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
    const { signal } = this.#closing
    let wasUsable = false
    while (!signal.aborted) {
      await this.#check(replica).catch(() => {})
      if (isUsable(replica) !== wasUsable) {
        wasUsable = !wasUsable
        const what = wasUsable ? 'is read from' : 'lags, or is gone, and is not read from'
        log.info('the replica {place} {what}', { place: replica.place, what })
      }
      await this.#pause()
    }
  }

  /** Shorter when a write waits. */
  async #pause(): Promise<void> {
    const over = new AbortController()
    const long = wait(CHECK_MS, undefined, { signal: AbortSignal.any([over.signal, this.#closing.signal]) })
    await Promise.race([long.catch(() => {}), this.#hurry.promise.then(() => wait(CHECK_SOON_MS))])
    over.abort()
    this.#hurry = Promise.withResolvers()
  }

  /** The primary first: what it had committed by then is what the replica is measured by. */
  async #check(replica: Replica): Promise<void> {
    const askedAt = performance.now()
    const [primary] = await this.#primary.query<{ bytes: string }>(
      "SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::text AS bytes",
    )
    if (!primary) return
    replica.positions.push({ askedAt, bytes: BigInt(primary.bytes) })
    replica.positions = replica.positions.filter(position => position.askedAt > askedAt - LAG_MAX_MS)
    const [follower] = await replica.pool.query<{ bytes: string | null }>(
      "SELECT CASE WHEN pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::text END AS bytes",
    )
    const replayed = BigInt(follower?.bytes ?? -1)
    const shown = replica.positions.findLast(position => position.bytes <= replayed)
    if (!shown) return
    if (!isFresh(replica)) replica.returnedAt = performance.now()
    replica.freshAsOf = shown.askedAt
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
