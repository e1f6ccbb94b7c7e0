import type { Database, Statement } from 'bun:sqlite'
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { BusyError } from '../../limits/busy-error.ts'
import { FairQueue } from '../../limits/fair-queue.ts'
import { COUNTS, Histogram, SECONDS } from '../../metrics/histogram.ts'
import { timedFromQueue } from '../../tracing/timeline.ts'
import type { Change } from '../change.ts'
import { DatabaseUnavailableError } from '../errors.ts'
import type { ChangeLog } from './change-log.ts'
import type { FileCondition } from './condition.ts'
import { isBusy, isDamage, reasonOfRefusedRow } from './failure.ts'
import type { LogSync } from './log-sync.ts'
import type { TurnSnapshot } from './turn-snapshot.ts'

/** The longest wait of a write for the lock of another process, and the pause between its tries. */
export const WRITE_WAIT_MAX_MS = 10_000
export const WRITE_RETRY_MS = 1

/** The longest wait of a write for a long transaction of this process, and how often that is looked at. */
const LONG_WAIT_MAX_MS = 30_000
const LOOK_INTERVAL_MS = 1_000
/** The longest wait of a long transaction for others: its request is closed after two minutes. */
const BESIDE_WAIT_MAX_MS = 100_000
const TOO_LONG = 'Another write takes too long'

/** Limit on waiting writes; further ones are rejected. */
const WRITES_WAITING_MAX = 8_192

/** Limit on writes in one transaction, so that none waits long for the others. */
const GROUP_MAX = 1_024
/** A group accepts no further writes after this long, so that heavy writes do not block the event loop. */
const GROUP_MAX_MS = 20
/**
 * While others read, a group accepts writes for as long as a commit takes, at least this long. So reads wait less, and no more
 * than half of the time goes to commits.
 */
const GROUP_AMONG_READS_MS = 0.1
/**
 * While others read, this many writes of a group are acknowledged in each turn of the event loop. If all were, every read would
 * wait for their responses, and for the next writes of these clients.
 */
const ACKNOWLEDGED_AT_ONCE = 8
/** The weight of a commit in the running average of durations. */
const COMMIT_WEIGHT = 1 / 8

interface WaitingWrite {
  /** By `performance.now()`. */
  readonly since: number
  /** Adds its changes to `changes`. Called again if its group is tried again. */
  work(changes: Change[]): void
  /** Called when the commit is durable. */
  committed(): void
  failed(error: unknown): void
}

/** Commits all writes of one event-loop turn in one transaction, with at most one sync. */
export class GroupCommit {
  readonly #connection: Database
  readonly #condition: FileCondition
  readonly #sync: LogSync
  readonly #snapshot: TurnSnapshot
  readonly #log: ChangeLog
  readonly #afterCommit: () => void
  readonly #beginImmediate: Statement
  readonly #commit: Statement
  readonly #savepoint: Statement
  readonly #release: Statement
  readonly #groupSizes = new Histogram(COUNTS)
  readonly #commitSeconds = new Histogram(SECONDS)
  /** The other connections of this process that take the write lock. */
  readonly #beside = new FairQueue(1)
  #waiting: WaitingWrite[] = []
  #scheduled = false
  /** Number of committed groups whose writes have not all been answered. */
  #unanswered = 0
  /** Number of those that are being acknowledged, because they are on the disk. */
  #acknowledging = 0
  #isClosed = false
  #busySince: number | null = null
  /** Running average. */
  #commitMs = 0

  /** `afterCommit` is called after each commit, before it is on the disk. */
  constructor(
    connection: Database,
    condition: FileCondition,
    sync: LogSync,
    snapshot: TurnSnapshot,
    log: ChangeLog,
    afterCommit: () => void,
  ) {
    this.#connection = connection
    this.#condition = condition
    this.#sync = sync
    this.#snapshot = snapshot
    this.#log = log
    this.#afterCommit = afterCommit
    this.#beginImmediate = connection.prepare('BEGIN IMMEDIATE')
    this.#commit = connection.prepare('COMMIT')
    this.#savepoint = connection.prepare('SAVEPOINT write')
    this.#release = connection.prepare('RELEASE write')
  }

  /** Counts: current, and since the start. */
  get figures() {
    return {
      /** Writes that wait for their group. */
      waiting: this.#waiting.length,
      groupSizes: this.#groupSizes,
      commitSeconds: this.#commitSeconds,
      syncSeconds: this.#sync.seconds,
    }
  }

  /** Whether writes wait for the lock of another process. */
  get waitsForLock(): boolean {
    return this.#busySince !== null
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** See `SqliteDatabase.write`. */
  write<Result>(work: (changes: Change[]) => Result): Promise<Result> {
    return timedFromQueue('transaction', begins =>
      this.#add(changes => {
        begins()
        return work(changes)
      }),
    )
  }

  #add<Result>(work: (changes: Change[]) => Result): Promise<Result> {
    if (this.#isClosed) return Promise.reject(new DatabaseUnavailableError('the database is closed'))
    if (this.#waiting.length >= WRITES_WAITING_MAX) return Promise.reject(new BusyError('Too many writes are waiting'))
    return new Promise<Result>((resolve, reject) => {
      let result: Result
      this.#waiting.push({
        since: performance.now(),
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
   * Runs work that takes the write lock on another connection, one after another. Meanwhile the writes of this process wait
   * without polling for the lock, which would keep the event loop busy. What waits too long is rejected with a `BusyError`.
   */
  async beside<Result>(work: () => Promise<Result>): Promise<Result> {
    // From now on, writes wait for this process itself.
    this.#busySince = null
    const looking = setInterval(() => this.#refuseLate(), LOOK_INTERVAL_MS)
    try {
      using _ = await this.#beside.takeWithin(BESIDE_WAIT_MAX_MS, TOO_LONG)
      return await work()
    } finally {
      clearInterval(looking)
      this.#schedule()
    }
  }

  /** Resolves when every write is answered. Later ones are refused: statements of a closed connection would still run. */
  async close(): Promise<void> {
    while (this.#isBeside || this.#scheduled || this.#unanswered > 0) await wait(WRITE_RETRY_MS)
    this.#isClosed = true
  }

  get #isBeside(): boolean {
    return this.#beside.held + this.#beside.length > 0
  }

  #refuseLate(): void {
    const least = performance.now() - LONG_WAIT_MAX_MS
    const others = this.#waiting.findIndex(({ since }) => since > least)
    const late = others === -1 ? this.#waiting.length : others
    const reason = new BusyError(TOO_LONG)
    for (const write of this.#waiting.splice(0, late)) write.failed(reason)
  }

  #schedule(delayMs = 0): void {
    // The clients that are being acknowledged will send their next writes, and these can join the same group.
    if (this.#scheduled || this.#acknowledging > 0 || this.#waiting.length === 0) return
    this.#scheduled = true
    const commitGroup = () => {
      this.#scheduled = false
      this.#commitGroup()
    }
    // After this event-loop turn, so that all requests that have arrived join one group.
    if (delayMs === 0) setImmediate(commitGroup)
    else setTimeout(commitGroup, delayMs)
  }

  /**
   * A savepoint for each write costs nearly as much as the write. So a group runs without, and only if one of its writes fails,
   * it is rolled back and tried again, `each` write in a savepoint, or each `alone` in a transaction.
   */
  #commitGroup(run: 'together' | 'each' | 'alone' = 'together'): void {
    if (this.#isBeside) return
    const isAmongReads = this.#snapshot.endForWrites()
    if (!this.#beginGroup()) return
    const group: WaitingWrite[] = []
    const changes: Change[] = []
    let isInWrite = false
    const end = performance.now() + (isAmongReads ? this.#shareOfWrites() : GROUP_MAX_MS)
    try {
      this.#log.check()
      this.#log.read()
      for (const write of this.#waiting.slice(0, run === 'alone' ? 1 : GROUP_MAX)) {
        group.push(write)
        isInWrite = true
        if (run === 'together') write.work(changes)
        else if (!this.#runInSavepoint(write, changes)) {
          // It was rejected, so it must not run again.
          group.pop()
          this.#waiting.splice(group.length, 1)
          continue
        }
        isInWrite = false
        if (performance.now() > end) break
      }
      this.#log.append(changes)
      this.#commitTransaction(group.length)
    } catch (error) {
      const mayBeOfOneWrite = run === 'together' && isInWrite && !this.#endsGroup(error)
      if (this.#connection.inTransaction) this.#connection.run('ROLLBACK')
      if (mayBeOfOneWrite) this.#commitGroup('each')
      else if (group.length > 1 && reasonOfRefusedRow(error) !== null) {
        // Somebody's own table may have a deferred foreign key: the commit checks it, and does not say whose write violates it.
        for (const _ of group) this.#commitGroup('alone')
      } else {
        // If the group could not even begin, those that would have been in it fail.
        for (const write of this.#waiting.splice(0, group.length || GROUP_MAX)) write.failed(error)
        this.#schedule()
      }
      return
    }
    this.#waiting.splice(0, group.length)
    if (group.length > 0) {
      this.#log.committed(changes)
      this.#afterCommit()
      this.#answerWhenDurable(group, isAmongReads)
    }
    this.#schedule()
  }

  #commitTransaction(writes: number): void {
    const began = performance.now()
    this.#commit.run()
    const commitMs = performance.now() - began
    this.#commitMs += COMMIT_WEIGHT * (commitMs - this.#commitMs)
    this.#commitSeconds.observe(commitMs / 1_000)
    this.#groupSizes.observe(writes)
  }

  #answerWhenDurable(writes: readonly WaitingWrite[], isAmongReads: boolean): void {
    this.#unanswered += 1
    const failed = (error: unknown) => {
      for (const write of writes) write.failed(error)
      this.#unanswered -= 1
    }
    this.#sync.committed({
      durable: () => {
        // The log may have been removed during the commit, or another process may have found that the disk lost a part of it.
        const problem = this.#condition.findReplaced() ?? this.#condition.findDamage()
        if (problem) failed(problem)
        else void this.#acknowledge(writes, isAmongReads)
      },
      failed,
    })
  }

  async #acknowledge(writes: readonly WaitingWrite[], isAmongReads: boolean): Promise<void> {
    const atOnce = isAmongReads ? ACKNOWLEDGED_AT_ONCE : writes.length
    this.#acknowledging += 1
    for (let start = 0; start < writes.length; start += atOnce) {
      if (start > 0) await turn()
      for (const write of writes.slice(start, start + atOnce)) write.committed()
    }
    this.#acknowledging -= 1
    this.#unanswered -= 1
    this.#schedule()
  }

  #shareOfWrites(): number {
    return Math.min(Math.max(this.#commitMs + this.#sync.blockingMs, GROUP_AMONG_READS_MS), GROUP_MAX_MS)
  }

  /** Takes the write lock. While another process holds it, schedules a retry, so that reads go on. */
  #beginGroup(): boolean {
    try {
      this.#condition.mustBeSound()
      this.#beginImmediate.run()
      this.#busySince = null
      this.#condition.locked()
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

  /** Returns false if the write threw and was rolled back by itself. */
  #runInSavepoint(write: WaitingWrite, changes: Change[]): boolean {
    this.#savepoint.run()
    const { length } = changes
    try {
      write.work(changes)
      this.#release.run()
      return true
    } catch (error) {
      if (this.#endsGroup(error)) throw error
      this.#connection.run('ROLLBACK TO write')
      // The changes that it has reported did not happen.
      changes.length = length
      this.#release.run()
      write.failed(error)
      return false
    }
  }

  /** Some errors, such as a full disk, roll back the whole transaction, so every write of the group fails; so does damage. */
  #endsGroup(error: unknown): boolean {
    return !this.#connection.inTransaction || isDamage(error)
  }
}
