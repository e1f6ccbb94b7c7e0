import { setTimeout as wait } from 'node:timers/promises'
import { getLogger } from '@logtape/logtape'
import { errorMessage } from '../../program/error-message.ts'
import { OperatorError } from '../../program/operator-error.ts'
import type { Migrations } from '../migrations.ts'
import type { PostgresAddress } from './address.ts'
import { stateOn } from './changes.ts'
import { warnOfCitusSettings } from './citus-settings.ts'
import { type Failure, failureOf, isUnknownSetting, isUnsupportedParameter } from './failure.ts'
import { migrate } from './migrate.ts'
import { Pool } from './pool.ts'
import { Replicas } from './replicas.ts'
import { reasonOf } from './unreachable.ts'

const log = getLogger(['stockroom', 'database'])

/** Statement timeout. */
export const STATEMENT_MS = 5_000

/** Lock timeout of writes. */
const LOCK_MS = 1_000

/** Timeout of migrations and bulk work, enough for tables of any size. */
export const BULK_MS = 86_400_000

/**
 * How PostgreSQL tells its version, on Windows before version 17 without the system. Engines that resemble it give more numbers
 * than it has, or words of their own.
 */
const POSTGRES_VERSION =
  /^PostgreSQL (9\.\d+|\d+)(\.\d+|[a-z]+\d*)?( (?!.*-YB-)|, compiled by Visual C\+\+ build \d+, \d+-bit$)/

const OLDEST_VERSION = 14

/** Failures at startup after which waiting is pointless. */
const ENDS_WAITING: ReadonlySet<Failure> = new Set(['denied', 'fault'])

/** The pause between two tries to connect at startup. */
const START_RETRY_MS = 250

/** A database on PostgreSQL, and how it is used. */
export interface PostgresSettings {
  readonly address: PostgresAddress
  /** Streaming replicas of the server at `address`, which answer reads. */
  readonly replicas: readonly PostgresAddress[]
  /** The number of connections to each server. */
  readonly connections: number
  readonly migrations: readonly Migrations[]
  /** Whether the tables must exist already. By default they are created. */
  readonly mustExist?: boolean
  /** Time limit for connecting at startup, in milliseconds. */
  readonly waitMs: number
}

export interface Servers extends AsyncDisposable {
  readonly primary: Pool
  /**
   * Connections to the same server for reads alone, so that no read queues behind a statement that waits for a lock. They are
   * replaced together with those of `primary`.
   */
  readonly reading: Pool
  readonly replicas: Replicas
  /** SQL for the state of the database that a statement reads, see `stateOn`; `null` if the server cannot tell. */
  readonly state: string | null
  /** Whether Citus distributes the tables over several servers. */
  readonly isDistributed: boolean
}

/**
 * Connects and applies the missing migrations. If the server is unreachable, it keeps trying until the time limit, and calls
 * `stillTrying` before each further try. Rejects with an `OperatorError` if the database cannot be used.
 */
export async function connectInTime(
  settings: PostgresSettings,
  signal: AbortSignal,
  stillTrying: () => void,
): Promise<Servers> {
  const { address, waitMs } = settings
  const began = performance.now()
  for (let tries = 1; ; tries += 1) {
    try {
      return await connectServers(settings)
    } catch (error) {
      if (error instanceof OperatorError) throw error
      const isLast = ENDS_WAITING.has(failureOf(error)) || performance.now() - began >= waitMs
      if (isLast || tries === 1) {
        const reason = `the database ${address.place} cannot be used: ${await reasonOf(error, address)}`
        if (isLast) throw new OperatorError(reason)
        log.warning('{reason}; still trying', { reason })
      }
    }
    stillTrying()
    await wait(START_RETRY_MS, undefined, { signal })
  }
}

async function connectServers(settings: PostgresSettings): Promise<Servers> {
  const { address, replicas: addresses, connections } = settings
  const { version, isDistributed } = await migrated(settings)
  await using opening = new AsyncDisposableStack()
  const [primary, reading] = Pool.pair(address, { connections, statementMs: STATEMENT_MS, lockMs: LOCK_MS })
  opening.use(primary)
  opening.use(reading)
  const replicas = opening.use(new Replicas(primary, addresses, connections))
  // If rows are on several servers, no single snapshot tells of all changes.
  const state = addresses.length === 0 && !isDistributed ? await stateOf(primary, version) : null
  // In the background, because a worker may hang.
  if (isDistributed) void warnOfCitusSettings(reading, connections)
  return Object.assign(opening.move(), { primary, reading, replicas, state, isDistributed })
}

async function migrated({ address, migrations, mustExist = false }: PostgresSettings) {
  await using migrating = new Pool(address, { connections: 1, statementMs: BULK_MS, isLong: true, isPrepared: false })
  const version = await versionOf(migrating, address)
  return { version, isDistributed: await migrate(migrating, migrations, address, mustExist) }
}

async function stateOf(primary: Pool, version: number): Promise<string | null> {
  const state = stateOn(version)
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
 * The major version. Rejects with an `OperatorError` if the database is not PostgreSQL, too old or not encoded in UTF-8, or if an
 * undeclared pooler, such as PgBouncer, shares connections between transactions: it refuses the settings of a new connection, or
 * drops them. Behind one, statements must not be prepared, because a prepared statement's name may mean another statement on the
 * next connection.
 */
async function versionOf(migrating: Pool, address: PostgresAddress): Promise<number> {
  const { isPooled, place } = address
  const pooled = `a pooler in front of ${place} does not keep the settings of connections; set DATABASE_POOLER=transaction`
  const settings =
    "SELECT setting AS limit, current_setting('server_encoding') AS encoding FROM pg_settings WHERE name = 'statement_timeout'"
  try {
    // Alone, because another engine may not know what the next query asks for.
    const told = await toldVersion(migrating, address)
    const version = POSTGRES_VERSION.exec(told)
    if (!version)
      throw new OperatorError(`the database ${place} is not PostgreSQL but ${told}; use PostgreSQL or Citus`)
    if (Number(version[1]) < OLDEST_VERSION)
      throw new OperatorError(`the database ${place} is too old: ${told}; use PostgreSQL ${OLDEST_VERSION} or later`)
    const [found] = await migrating.query<{ limit: string; encoding: string }>(settings)
    if (found?.encoding !== 'UTF8')
      throw new OperatorError(`the database ${place} is not encoded in UTF-8; create it with ENCODING 'UTF8'`)
    if (!isPooled && found.limit !== String(BULK_MS)) throw new OperatorError(pooled)
    return Number(version[1])
  } catch (error) {
    throw isUnsupportedParameter(error) ? new OperatorError(pooled, { cause: error }) : error
  }
}

async function toldVersion(migrating: Pool, address: PostgresAddress): Promise<string> {
  const ask = async (pool: Pool) => {
    const [server] = await pool.query<{ version: string }>('SELECT version() AS version')
    return server?.version ?? ''
  }
  try {
    return await ask(migrating)
  } catch (error) {
    if (!isUnknownSetting(error)) throw error
    // A server before version 14 refuses connections with our settings.
    await using plain = new Pool(
      { ...address, isPooled: true },
      { connections: 1, statementMs: STATEMENT_MS, lockMs: LOCK_MS },
    )
    return await ask(plain)
  }
}
