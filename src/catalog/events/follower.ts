import { getLogger } from '@logtape/logtape'
import { pause, systemClock } from '../../clock.ts'
import { errorMessage } from '../../program/error-message.ts'
import type { Feed, ResetReason } from './feed.ts'
import type { EventFilter } from './filter.ts'
import { beginning, COMMENT, type Frames, placeFrame, resetFrames, type SharedFrames, type Start } from './frames.ts'
import { type EventPlace, isAfter } from './place.ts'

const log = getLogger(['stockroom', 'events'])

/** After this much silence, a follower gets the place that it has reached, or a comment. */
const SILENCE_MS = 14_000
/** The pause before a page is read again that could not be read. */
const RETRY_MS = 1_000

/**
 * The stream of one client. A client that keeps up gets the same frames as all others. If the events after its place are no longer
 * in memory, it gets pages from the database.
 */
export class Follower implements Disposable {
  readonly #feed: Feed
  readonly #frames: SharedFrames
  readonly #filter: EventFilter
  readonly #start: Start
  readonly #listening: Disposable
  /** The place that it has reached, also past events that its filter leaves out. */
  #place: EventPlace
  /** The last place whose id the client was sent. */
  #sentPlace: EventPlace
  /** When it was last sent anything, and whether that is long ago. */
  #sentAt = systemClock.now()
  #isSilent = false
  /** Why the client has to read everything again, until it is told so. */
  #reset: ResetReason | null = null
  /** A page from the database, and whether one is being read. */
  #page: Frames | null = null
  #isReading = false
  #hasEnded = false
  #wake = () => {}

  /** Call it right after `Feed.current`, so that it misses nothing. */
  constructor(frames: SharedFrames, filter: EventFilter, start: Start) {
    this.#feed = frames.feed
    this.#frames = frames
    this.#filter = filter
    this.#start = start
    this.#place = start.place
    this.#sentPlace = start.place
    this.#listening = frames.feed.listen(reset => {
      this.#reset ??= reset
      this.#wake()
    })
  }

  /** Yields what the client is sent, until either side ends the stream. */
  async *bytes(): AsyncGenerator<Uint8Array, void> {
    yield beginning(this.#start)
    while (!this.#hasEnded) {
      const bytes = this.#next() ?? this.#signOfLife()
      if (bytes) {
        this.#sentAt = systemClock.now()
        this.#isSilent = false
        yield bytes
      } else {
        await this.#news()
      }
    }
  }

  /** Call it now and then, so that no follower needs a timer of its own. */
  checkTime(): void {
    this.#isSilent = systemClock.now() - this.#sentAt >= SILENCE_MS
    if (this.#isSilent) this.#wake()
  }

  /** Ends the stream as the server. */
  end(): void {
    this.#hasEnded = true
    this.#wake()
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]()
    this.end()
  }

  /** The next frames that have anything for this client; `null` if it has to wait for them. */
  #next(): Uint8Array | null {
    for (let frames = this.#nextFrames(); frames; frames = this.#nextFrames()) {
      this.#place = frames.place
      if (frames.bytes.length === 0) continue
      this.#sentPlace = frames.place
      return frames.bytes
    }
    return null
  }

  #nextFrames(): Frames | null {
    // The page that is being read begins at this place.
    if (this.#isReading) return null
    const page = this.#page
    this.#page = null
    if (page) return page
    const reset = this.#reset
    this.#reset = null
    if (reset !== null) return resetFrames(reset, this.#feed.end)
    if (this.#feed.remembers(this.#place)) return this.#frames.after(this.#place, this.#filter)
    void this.#read()
    return null
  }

  /** Reads a page from the database. */
  async #read(): Promise<void> {
    this.#isReading = true
    try {
      const page = await this.#feed.after(this.#place)
      if (typeof page === 'string') this.#reset = page
      // After the last event, because transactions without any may be removed from the log while the client reads.
      else this.#page = this.#frames.of(page.events, this.#filter, page.events.at(-1) ?? page.place)
    } catch (error) {
      log.debug('a follower has to wait: {reason}', { reason: errorMessage(error) })
      await pause(systemClock, RETRY_MS, this.#feed.stopping)
    }
    this.#isReading = false
    this.#wake()
  }

  /** After some silence, the place that the client may go on from, if it has reached a new one, or else a comment. */
  #signOfLife(): Uint8Array | null {
    if (!this.#isSilent) return null
    const { end } = this.#feed
    // A place before the end may soon be removed from the log.
    if (!this.#feed.isCurrent(this.#place) || !isAfter(end, this.#sentPlace)) return COMMENT
    this.#sentPlace = end
    return placeFrame(end)
  }

  /** Resolves when there may be something to send. */
  #news(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve
    })
  }
}
