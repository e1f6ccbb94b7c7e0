import { setImmediate as turn } from 'node:timers/promises'
import { getLogger } from '@logtape/logtape'
import { pause, systemClock } from '../../clock.ts'
import type { ChangeHistory, LoggedTransaction } from '../../database/change.ts'
import { regularly } from '../../database/regularly.ts'
import { errorMessage } from '../../program/error-message.ts'
import { following, once } from '../../shared.ts'
import { eventsOf, type FeedEvent } from './event.ts'
import { type EventPlace, endOf, eventIdOf, isAfter } from './place.ts'

const log = getLogger(['stockroom', 'events'])

/** Events that the log keeps even if nobody can follow it. Other processes read it for their caches. */
const EVENTS_KEPT_FOR_CACHES = 8_192

/** The interval between looks at the log while anyone follows it. */
const LOOK_INTERVAL_MS = 40

/** The feed goes on reading the log for this long after its last use, because polls come again. */
const LINGER_MS = 10_000

/** The interval between removals of old events from the log. */
const REMOVAL_INTERVAL_MS = 1_000

/** The newest events stay in memory, this many at least, for all followers. */
const RECENT_EVENTS = 10_000
/** Events that are dropped from memory at a time. */
const DROPPED_AT_ONCE = 1_000

/** Followers that are told of new events in one turn of the event loop. */
const TOLD_AT_ONCE = 500

/** Why a follower has to read everything again: its place is too old, or is not in this log. */
export type ResetReason = 'expired' | 'unknown'

/** The next events of a follower. */
export interface Page {
  readonly events: readonly FeedEvent[]
  /** Where they end. */
  readonly place: EventPlace
  /**
   * The last of these places that a client may store and come back to; `null` if there is none, because transactions without
   * changes are removed from the log early.
   */
  readonly lasting: EventPlace | null
  /** Whether nothing followed. */
  readonly isEnd: boolean
}

/** Called with `null` when there are further events, or with the reason why the feed starts again at another place. */
type Listener = (reset: ResetReason | null) => void

/**
 * The events of the change log in one process. While anyone follows, it reads the log once for all of them, and keeps the newest
 * events in memory. Older ones are read from the database, one page after another.
 */
export class Feed {
  readonly #history: ChangeHistory
  readonly #stopping = new AbortController()
  readonly #listeners = new Set<Listener>()
  #recent: FeedEvent[] = []
  /** All events after it are in memory. */
  #base: EventPlace = { position: 0, tag: 0, index: 0 }
  /** The last transaction that was read. */
  #read: Pick<EventPlace, 'position' | 'tag'> = this.#base
  /** The newest place that a client may store and come back to. */
  #end: EventPlace = this.#base
  #usedAt = Number.NEGATIVE_INFINITY
  /** Resolves when the end of the log is known. `null` while nobody follows, so nothing is read. */
  #starting: Promise<void> | null = null
  #running: Promise<void> = Promise.resolve()
  /** The last page that was asked for. The next one is read after it. */
  #pages: Promise<unknown> = Promise.resolve()
  /** The pages that are not being read yet, by the id of the place that they follow. */
  readonly #waiting = new Map<string, Promise<Page | ResetReason>>()

  constructor(history: ChangeHistory) {
    this.#history = history
  }

  /** The place after the newest event, as far as this process knows. */
  get end(): EventPlace {
    return this.#end
  }

  /** Aborted when the process stops. */
  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  /** Prepares the log, once. */
  readonly #begin = once(() => this.#history.begin())

  /** Reads everything that was committed before this call. */
  async current(): Promise<void> {
    this.#usedAt = systemClock.now()
    await this.#begin()
    this.#starting ??= this.#start()
    await this.#starting
    await this.#look()
  }

  /** Calls the listener until the result is disposed of. Call it after `current`. */
  listen(listener: Listener): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) }
  }

  /** Returns the place that a client comes back to, or why it has to read everything again. Call it after `current`. */
  async find(place: EventPlace): Promise<EventPlace | ResetReason> {
    const last = this.#recent.findLast(event => !isAfter(event, place)) ?? this.#base
    const id = eventIdOf(place)
    // Those who poll come back to the end, which needs no read.
    if (id === eventIdOf(last) || id === eventIdOf(this.#end)) return place
    const page = await this.after(place)
    return typeof page === 'string' ? page : place
  }

  /** The place before the oldest event. */
  async start(): Promise<EventPlace> {
    const first = await this.#history.first()
    return endOf(first, eventsOf(first).length)
  }

  /** Whether no event has come after a place, as far as this process knows. */
  isCurrent(place: EventPlace): boolean {
    return !isAfter(this.#recent.at(-1) ?? this.#base, place)
  }

  /** Whether all events after a place are in memory. Otherwise, the next ones have to be read. */
  remembers(place: EventPlace): boolean {
    return !isAfter(this.#base, place)
  }

  /** The next events after a place that the feed remembers, this many at most. */
  recentAfter(place: EventPlace, most: number): readonly FeedEvent[] {
    // Most places are near the end.
    const from = this.#recent.findLastIndex(event => !isAfter(event, place)) + 1
    return this.#recent.slice(from, from + most)
  }

  /**
   * Reads the events after a place from the database, or tells why it cannot. One read after another: followers that wait at the
   * same place, as after a restart, share one.
   */
  after(place: EventPlace): Promise<Page | ResetReason> {
    return this.#waiting.getOrInsertComputed(eventIdOf(place), id => {
      // A turn of its own for each, so that other requests run in between.
      const page = this.#pages.then(turn).then(() => {
        this.#waiting.delete(id)
        return this.#page(place)
      })
      this.#pages = page.catch(() => {})
      return page
    })
  }

  /** Removes old events, now and at intervals, but keeps this many. Disposing of the result waits for work in progress. */
  removeOld(kept: number): AsyncDisposable {
    const work = async (signal: AbortSignal) => {
      await this.#begin()
      await this.#history.removeOld(kept || EVENTS_KEPT_FOR_CACHES, signal)
    }
    return regularly({ periodMs: REMOVAL_INTERVAL_MS, work, log })
  }

  /** Ends all streams. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #page(place: EventPlace): Promise<Page | ResetReason> {
    const { transactions, isEnd } = await this.#history.read(place.position)
    const [own, ...further] = transactions
    if (!own || !isSame(own, place)) return this.#reasonFor(place)
    const ownEvents = eventsOf(own)
    const events = ownEvents.filter(event => isAfter(event, place))
    let reached = endOf(own, ownEvents.length)
    let lasting = own.isLasting ? reached : null
    for (const transaction of further) {
      const more = eventsOf(transaction)
      for (const event of more) events.push(event)
      reached = endOf(transaction, more.length)
      if (transaction.isLasting) lasting = reached
    }
    return { events, place: reached, lasting, isEnd }
  }

  async #reasonFor({ position }: Pick<EventPlace, 'position'>): Promise<ResetReason> {
    return position < (await this.#history.first()).position ? 'expired' : 'unknown'
  }

  async #start(): Promise<void> {
    try {
      await this.#restart()
      this.#running = this.#run()
    } catch (error) {
      this.#starting = null
      throw error
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted && this.#isUsed()) {
      await pause(systemClock, LOOK_INTERVAL_MS, this.#stopping.signal)
      // While the database is away, streams stay open and silent.
      await this.#look().catch(error =>
        log.debug('the change log cannot be read: {reason}', { reason: errorMessage(error) }),
      )
    }
    this.#starting = null
  }

  #isUsed(): boolean {
    if (this.#listeners.size > 0) this.#usedAt = systemClock.now()
    return systemClock.now() - this.#usedAt < LINGER_MS
  }

  /** Resolves after a look at the log that has begun after this call. */
  readonly #look = following(() => this.#readOn())

  async #readOn(): Promise<void> {
    for (let isEnd = false; !isEnd; ) {
      const before = this.#recent.at(-1)
      const piece = await this.#history.read(this.#read.position)
      const [own, ...further] = piece.transactions
      if (!own || !isSame(own, this.#read)) {
        // A transaction without changes is removed early, as while this process was paused: then no event was lost.
        if (this.#read.position !== this.#end.position) {
          // The log may also be that of another server, whose gaps nobody has looked at yet.
          await this.#history.last()
          this.#read = this.#end
          continue
        }
        const reason = await this.#reasonFor(this.#read)
        await this.#restart()
        await this.#tell(reason)
        return
      }
      for (const transaction of further) this.#add(transaction)
      isEnd = piece.isEnd
      // Now, because the next piece may fail, and its events come later.
      if (this.#recent.at(-1) !== before) await this.#tell(null)
    }
  }

  async #tell(reset: ResetReason | null): Promise<void> {
    let told = 0
    for (const listener of [...this.#listeners]) {
      listener(reset)
      told += 1
      if (told % TOLD_AT_ONCE === 0) await turn()
    }
  }

  #add(transaction: LoggedTransaction): void {
    const events = eventsOf(transaction)
    for (const event of events) this.#recent.push(event)
    this.#read = transaction
    if (transaction.isLasting) this.#end = endOf(transaction, events.length)
    if (this.#recent.length < RECENT_EVENTS + DROPPED_AT_ONCE) return
    const dropped = this.#recent.splice(0, this.#recent.length - RECENT_EVENTS)
    this.#base = dropped.at(-1) ?? this.#base
  }

  /** Goes on from the end of the log. */
  async #restart(): Promise<void> {
    const last = await this.#history.last()
    this.#recent = []
    this.#end = endOf(last, eventsOf(last).length)
    this.#base = this.#end
    this.#read = last
  }
}

/** Whether the transaction at a place is still the one that was there. */
function isSame(transaction: LoggedTransaction, { position, tag }: Pick<EventPlace, 'position' | 'tag'>): boolean {
  return transaction.position === position && transaction.tag === tag
}
