import { setTimeout as wait } from 'node:timers/promises'
import { getLogger } from '@logtape/logtape'
import type { Awaitable } from '../../../awaitable.ts'
import { systemClock, within } from '../../../clock.ts'
import { regularly } from '../../../database/regularly.ts'
import { BusyError } from '../../../limits/busy-error.ts'
import { errorMessage } from '../../../program/error-message.ts'
import { shared } from '../../../shared.ts'
import { timed, untimed } from '../../../tracing/timeline.ts'

const log = getLogger(['stockroom', 'index'])

/** A request waits this long for the index at most. */
const CATCH_UP_MAX_MS = 2_000

const BUILT_RETRY_SECONDS = 5

/** The background starts when nobody has searched for this long. */
const IDLE_MS = 1_000

/**
 * While nobody has searched yet, the background starts when this many rows are noted. It takes them down to this number without a
 * pause if fewer rows than `CHANGES_KEPT_UP` are changed in a second: more would cost writers that have no time to spare too much.
 */
const MANY_NOTES = 3_000
const CHANGES_KEPT_UP = 1_000

/** The pause while another process takes notes. */
const BUSY_PAUSE_MS = 5

/** The interval between log lines while the index is built. */
const PROGRESS_MS = 10_000

/** The notes of rows that have changed since the index was last brought up to date, by their numbers. */
export interface NotedRange {
  readonly first: number
  readonly last: number
}

export type IndexFigures = CatchingUp['figures']

/** Brings an index up to date, a few rows at a time. */
export interface IndexSlices {
  /** `null` if the index is up to date. */
  noted(): Awaitable<NotedRange | null>
  /** Whether the index has ever been complete. If it has another form than this program makes, notes all rows first. */
  isBuilt(): Promise<boolean>
  /** Takes the first few notes, or many, unless another process is taking some. */
  take(count: 'few' | 'many'): Promise<'done' | 'busy'>
  /** Rebuilds the whole index if that is faster than taking all notes. `progress` gets the number of rows that are left. */
  rebuild(progress: (left: number) => void): Promise<void>
  /** Records that the index is complete. */
  built(): Promise<void>
}

/**
 * Keeps an index up to date. A search first takes the notes of all rows that were changed before it was sent. A process whose
 * service is searched takes notes while nobody searches, too, and so does one that finds very many of them.
 */
export class CatchingUp {
  readonly #slices: IndexSlices
  #isBuilt = false
  #rowsLeft = 0
  #lastSearch = Number.NEGATIVE_INFINITY

  constructor(slices: IndexSlices) {
    this.#slices = slices
  }

  /** As they were when this process last looked. */
  get figures() {
    return {
      /** Whether the index has been complete since the database was created or upgraded. */
      isBuilt: this.#isBuilt,
      /** Changed rows that the index does not have yet, about. */
      rowsLeft: this.#rowsLeft,
    }
  }

  /**
   * Resolves when the index has every write that was acknowledged before the call. Rejects with a `BusyError` if that takes too
   * long.
   */
  async upToDate(): Promise<void> {
    this.#lastSearch = performance.now()
    const giveUp = new AbortController()
    // A slice itself may wait for the lock of another program.
    const caughtUp = () => within(systemClock, CATCH_UP_MAX_MS, this.#catchUp(giveUp.signal))
    if (await timed('waiting for the search index', () => untimed(caughtUp))) return
    giveUp.abort()
    throw this.#isBuilt
      ? new BusyError('The search index is catching up')
      : new BusyError('The search index is being built', BUILT_RETRY_SECONDS)
  }

  /** Takes all notes, for commands that have stored many rows. `progress` gets the number of those that are left. */
  async all(progress: (left: number) => void): Promise<void> {
    await this.#slices.isBuilt()
    try {
      await this.#slices.rebuild(progress)
    } catch (error) {
      // It needs locks that a backup may hold, and to own the tables. Notes are taken without either.
      log.debug('the search index was not rebuilt: {reason}', { reason: errorMessage(error) })
    }
    for (let noted = await this.#noted(); noted; noted = await this.#noted()) {
      progress(this.#rowsLeft)
      await this.#takeOrWait('many')
    }
    await this.#slices.built()
    this.#isBuilt = true
  }

  /** Takes notes in the background. */
  inBackground(): AsyncDisposable {
    let reported = performance.now()
    let lastSeen = 0
    let sample = { last: 0, at: Number.NEGATIVE_INFINITY }
    let keepsUp = true
    /** The index is complete when it has all notes up to this one. Others may be added faster than they are taken. */
    let lastMissing: number | null = null
    /** Returns whether to go on at once. */
    const takeSome = async () => {
      this.#isBuilt ||= await this.#slices.isBuilt()
      const noted = await this.#noted()
      lastMissing ??= noted?.last ?? 0
      if (!noted || noted.first > lastMissing) await this.#mustBeBuilt()
      if (!noted) return false
      const isCalm = noted.last === lastSeen
      lastSeen = noted.last
      const now = performance.now()
      const seconds = (now - sample.at) / 1_000
      const changed = noted.last - sample.last
      // Writers that begin to be fast are noticed at once, and those that become slow after a second.
      if (seconds >= 1 || changed >= CHANGES_KEPT_UP) keepsUp = changed < CHANGES_KEPT_UP * seconds
      if (seconds >= 1) sample = { last: noted.last, at: now }
      if (!this.#isWorthTaking(noted)) return false
      await this.#takeSlice()
      if (!this.#isBuilt && performance.now() - reported > PROGRESS_MS) {
        reported = performance.now()
        log.info('the search index is being built: {rows} rows are left', { rows: this.#rowsLeft })
      }
      // While rows are being changed, one slice a second, so that their writers lose little. But without an index, and at first with one
      // that lacks very much, searches are 503.
      return isCalm || !this.#isBuilt || (keepsUp && this.#rowsLeft >= MANY_NOTES)
    }
    const work = async (signal: AbortSignal) => {
      try {
        while (!signal.aborted && (await takeSome())) {}
      } catch (error) {
        if (signal.aborted) return
        log.debug('the search index was not brought up to date: {reason}', { reason: errorMessage(error) })
      }
    }
    return regularly({ periodMs: IDLE_MS, work, log })
  }

  /** Resolves to whether the index has all notes that there were. */
  async #catchUp(giveUp: AbortSignal): Promise<boolean> {
    this.#isBuilt ||= await this.#slices.isBuilt()
    let noted = await this.#noted()
    for (const last = noted?.last ?? 0; noted && noted.first <= last; noted = await this.#noted()) {
      if (giveUp.aborted) return false
      await this.#takeSlice()
    }
    await this.#mustBeBuilt()
    return true
  }

  #isWorthTaking({ first, last }: NotedRange): boolean {
    if (this.#lastSearch === Number.NEGATIVE_INFINITY) return !this.#isBuilt || last - first >= MANY_NOTES
    return performance.now() - this.#lastSearch > IDLE_MS
  }

  async #noted(): Promise<NotedRange | null> {
    const noted = await this.#slices.noted()
    this.#rowsLeft = noted ? noted.last - noted.first + 1 : 0
    return noted
  }

  /** Concurrent callers share a slice. */
  readonly #takeSlice = shared(() => this.#takeOrWait('few'))

  async #takeOrWait(count: 'few' | 'many'): Promise<void> {
    if ((await this.#slices.take(count)) === 'busy') await wait(BUSY_PAUSE_MS)
  }

  /** Concurrent callers share it, because recording takes a lock, and may take a second. */
  readonly #mustBeBuilt = shared(async () => {
    if (this.#isBuilt) return
    if (!(await this.#slices.isBuilt())) {
      await this.#slices.built()
      log.info('the search index is built')
    }
    this.#isBuilt = true
  })
}
