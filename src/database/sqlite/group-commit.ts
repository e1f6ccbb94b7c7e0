import type { Database, Statement } from 'bun:sqlite'
import type { Change } from '../change.ts'
import { DatabaseUnavailableError } from '../errors.ts'
import type { Condition } from './condition.ts'
import { isBusy, isDamage } from './failure.ts'

/** How long a write waits for another process's write before the client hears of it. */
export const WRITE_WAIT_MAX_MS = 10_000
export const WRITE_RETRY_MS = 5

/** Writes that wait for a commit; one more is turned away. */
const WRITES_WAITING_MAX = 8_192

/** Writes that share one transaction, so that none waits long for its neighbours. */
const GROUP_MAX = 1_024
/** A group takes no further write after so long, so that heavy writes leave the event loop to others in between. */
const GROUP_MAX_MS = 20

interface WaitingWrite {
  /** Does the work; called inside the savepoint. Adds what it changes. */
  readonly work: (changes: Change[]) => void
  /** Called when the work's commit is on the disk. */
  readonly committed: () => void
  readonly failed: (error: unknown) => void
}

/** What a group of writes means for the reads on the same connection. */
interface Surroundings {
  /** Called before a group begins its transaction: a connection has one at a time. */
  readonly begins: () => void
  /** Called when a group has ended, before those who wait for it hear of it. */
  readonly ended: (changes: readonly Change[]) => void
}

/** Writes that share a transaction and its fsync: all that come within one turn of the event loop. */
export class GroupCommit {
  readonly #connection: Database
  readonly #condition: Condition
  readonly #surroundings: Surroundings
  readonly #beginImmediate: Statement
  readonly #commit: Statement
  readonly #savepoint: Statement
  readonly #release: Statement
  #waiting: WaitingWrite[] = []
  #scheduled = false
  #busySince: number | null = null
  #idle = Promise.withResolvers<void>()
  /** Until then, another connection of this process has the write lock. */
  #beside: Promise<void> | null = null

  constructor(connection: Database, condition: Condition, surroundings: Surroundings) {
    this.#connection = connection
    this.#condition = condition
    this.#surroundings = surroundings
    this.#beginImmediate = connection.prepare('BEGIN IMMEDIATE')
    this.#commit = connection.prepare('COMMIT')
    this.#savepoint = connection.prepare('SAVEPOINT write')
    this.#release = connection.prepare('RELEASE write')
  }

  /** As `SqliteDatabase.write`. */
  write<Result>(work: (changes: Change[]) => Result): Promise<Result> {
    if (this.#waiting.length >= WRITES_WAITING_MAX) {
      return Promise.reject(new DatabaseUnavailableError(`${WRITES_WAITING_MAX} writes are waiting already`))
    }
    return new Promise<Result>((resolve, reject) => {
      let result: Result
      this.#waiting.push({
        work: changes => {
          result = work(changes)
        },
        committed: () => resolve(result),
        failed: error => reject(this.#condition.afterWrite(error)),
      })
      this.#schedule()
    })
  }

  /**
   * Does work that takes the write lock on another connection, one after another. The writes of this process wait
   * meanwhile, without asking for the lock again and again, which would keep the event loop from everything else.
   */
  beside<Result>(work: () => Promise<Result>): Promise<Result> {
    const before = this.#beside
    const done = (async () => {
      await before
      return work()
    })()
    const ended = done.then(
      () => {},
      () => {},
    )
    this.#beside = ended
    ended.then(() => {
      if (this.#beside !== ended) return
      this.#beside = null
      if (this.#waiting.length > 0) this.#schedule()
    })
    return done
  }

  /** Resolves when no write is waiting. */
  async finished(): Promise<void> {
    while (this.#beside) await this.#beside
    if (this.#scheduled) await this.#idle.promise
  }

  #schedule(delayMs = 0): void {
    if (this.#scheduled) return
    this.#scheduled = true
    const commitGroup = () => {
      this.#scheduled = false
      this.#commitGroup()
      if (this.#scheduled) return
      this.#idle.resolve()
      this.#idle = Promise.withResolvers()
    }
    // After this turn of the event loop, so that all requests that have arrived go into one group.
    if (delayMs === 0) setImmediate(commitGroup)
    else setTimeout(commitGroup, delayMs)
  }

  #commitGroup(): void {
    if (this.#beside) return
    this.#surroundings.begins()
    if (!this.#beginGroup()) return
    const group: WaitingWrite[] = []
    const done: WaitingWrite[] = []
    const changes: Change[] = []
    const end = performance.now() + GROUP_MAX_MS
    try {
      for (const write of this.#waiting.slice(0, GROUP_MAX)) {
        group.push(write)
        if (this.#doInSavepoint(write, changes)) done.push(write)
        if (performance.now() > end) break
      }
      this.#commit.run()
    } catch (error) {
      if (this.#connection.inTransaction) this.#connection.run('ROLLBACK')
      // Those that failed alone were told so already; a promise settles once.
      for (const write of group) write.failed(error)
      done.length = 0
    }
    this.#waiting.splice(0, group.length)
    this.#surroundings.ended(changes)
    for (const write of done) write.committed()
    if (this.#waiting.length > 0) this.#schedule()
  }

  /** Takes the write lock. While another process has it, tries again a little later and lets reads go on. */
  #beginGroup(): boolean {
    try {
      this.#condition.mustBeSound()
      this.#condition.mustBeInPlace()
      this.#beginImmediate.run()
      this.#busySince = null
      return true
    } catch (error) {
      this.#busySince ??= performance.now()
      if (isBusy(error) && performance.now() - this.#busySince < WRITE_WAIT_MAX_MS) {
        this.#schedule(WRITE_RETRY_MS)
        return false
      }
      this.#busySince = null
      for (const write of this.#waiting.splice(0)) write.failed(error)
      return false
    }
  }

  /** True when the work was done; false when it threw and only its own changes were undone. */
  #doInSavepoint(write: WaitingWrite, changes: Change[]): boolean {
    this.#savepoint.run()
    try {
      write.work(changes)
      this.#release.run()
      return true
    } catch (error) {
      // Some errors, as of a full disk, have rolled back the whole transaction: then nobody's write is done. Nor is any
      // into a damaged file.
      if (!this.#connection.inTransaction || isDamage(error)) throw error
      this.#connection.run('ROLLBACK TO write')
      this.#release.run()
      write.failed(error)
      return false
    }
  }
}
