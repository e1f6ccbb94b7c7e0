import type { Awaitable } from '../../awaitable.ts'
import { systemClock, within } from '../../clock.ts'
import { BusyError } from '../../limits/busy-error.ts'
import { FairQueue } from '../../limits/fair-queue.ts'
import { timedFromQueue } from '../../tracing/timeline.ts'
import { DatabaseUnavailableError } from '../errors.ts'
import type { FileCondition } from './condition.ts'
import { type Parameter, READER_PRAGMAS } from './connection.ts'
import { Thread } from './thread.ts'

const WAITING_MAX = 64
const WAIT_MAX_MS = 5_000
const TOO_MANY = 'Too many long reads are waiting'

/** A stop waits for a statement no longer than this. */
const CLOSE_MAX_MS = 800

/** A request that also waits 5 s for the thread gets its answer before its connection would be closed as idle. */
const STATEMENT_MAX_MS = 20_000

/** A running statement cannot be interrupted, so a replaced thread ends only when its statement does. */
const THREADS_MAX = 4

const READING = { mode: { readonly: true }, pragmas: READER_PRAGMAS } as const

/** Runs a statement and resolves to its rows. */
export type ReadAll = <Row>(sql: string, parameters: readonly Parameter[]) => Promise<Row[]>

/**
 * Runs statements that would hold up the event loop, on a read-only connection in a thread of its own. The thread starts with
 * the first call.
 */
export class ReadingThread implements AsyncDisposable {
  readonly #path: string
  readonly #condition: FileCondition
  readonly #commitsOnDisk: () => Awaitable<void>
  readonly #queue = new FairQueue(1)
  readonly #closing = new AbortController()
  /** With those that were replaced and have not ended yet. */
  readonly #threads = new Set<Thread>()
  #current: Thread | null = null

  /** `commitsOnDisk` waits until all commits so far are on the disk. */
  constructor(path: string, condition: FileCondition, commitsOnDisk: () => Awaitable<void>) {
    this.#path = path
    this.#condition = condition
    this.#commitsOnDisk = commitsOnDisk
  }

  /**
   * Runs the statement on a snapshot of all commits so far, and resolves to its rows. Calls run one after the other. Rejects with
   * a `BusyError` if too many calls wait, and with a `DatabaseUnavailableError` if the thread ends or the statement takes too long.
   */
  readonly all: ReadAll = (sql, parameters) => this.#inTurn(thread => allIn(thread)(sql, parameters))

  /** Like `all`, for several statements on one snapshot. */
  together<Result>(work: (all: ReadAll) => Promise<Result>): Promise<Result> {
    return this.#inTurn(async thread => {
      await thread.all('BEGIN')
      try {
        return await work(allIn(thread))
      } finally {
        // After some errors, such as one of the disk, SQLite has ended the transaction itself. Those are the errors to report.
        if (!thread.hasEnded) await thread.all('COMMIT').catch(error => thread.end(error))
      }
    })
  }

  async #inTurn<Result>(read: (thread: Thread) => Promise<Result>): Promise<Result> {
    const result = await timedFromQueue('statement', begins => this.#alone(begins, read))
    // Other processes may have made the commits that the thread has seen.
    await this.#commitsOnDisk()
    return result
  }

  async #alone<Result>(begins: () => void, read: (thread: Thread) => Promise<Result>): Promise<Result> {
    if (this.#queue.length >= WAITING_MAX) throw new BusyError(TOO_MANY)
    using _ = await this.#queue.takeWithin(WAIT_MAX_MS, TOO_MANY)
    begins()
    this.#closing.signal.throwIfAborted()
    try {
      this.#condition.mustHaveBeenInPlace()
      const thread = this.#thread()
      try {
        return await read(thread)
      } finally {
        this.#mustBeInPlace(thread)
      }
    } catch (error) {
      throw this.#condition.afterRead(error)
    }
  }

  /** Ends the thread, after its statement or after `CLOSE_MAX_MS`. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new DatabaseUnavailableError('the database is closed')
    this.#closing.abort(closed)
    this.#current?.close()
    await within(systemClock, CLOSE_MAX_MS, Promise.all([...this.#threads].map(({ ended }) => ended)))
    this.#current?.end(closed)
  }

  #thread(): Thread {
    if (this.#current && !this.#current.hasEnded) return this.#current
    if (this.#threads.size >= THREADS_MAX) throw new DatabaseUnavailableError('statements that took too long still run')
    const thread = new Thread(this.#path, READING, STATEMENT_MAX_MS)
    this.#current = thread
    this.#threads.add(thread)
    thread.ended.then(() => this.#threads.delete(thread))
    return thread
  }

  /** The file may have been moved while the thread opened it. */
  #mustBeInPlace(thread: Thread): void {
    try {
      this.#condition.mustBeInPlace()
    } catch (error) {
      thread.end(error)
      throw error
    }
  }
}

function allIn(thread: Thread): ReadAll {
  return async <Row>(sql: string, parameters: readonly Parameter[]) => (await thread.all(sql, parameters)) as Row[]
}
