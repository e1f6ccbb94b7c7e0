import { getLogger } from '@logtape/logtape'
import { bearerToken } from '../../access/bearer.ts'
import { digestOf } from '../../access/key.ts'
import { pause, systemClock } from '../../clock.ts'
import { errorMessage } from '../../program/error-message.ts'
import { logFailure } from '../../server/errors.ts'
import type { RequestScope } from '../../server/requests.ts'
import type { Feed, ResetReason } from './feed.ts'
import type { EventFilter } from './filter.ts'
import { beginning, COMMENT, framesOf, placeFrame, resetFrame, type SharedFrames, type Start } from './frames.ts'
import { type EventPlace, isAfter } from './place.ts'

const log = getLogger(['stockroom', 'events'])

/** After this much silence, a follower gets the place that it has reached, or a comment. */
const SILENCE_MS = 14_000
/** A client that reads nothing for this long is cut off. */
const STALLED_MS = 60_000
/** Time for a connection that is cut off to close, and for a client to read the rest of a stream that has ended. */
const CUT_SECONDS = 1
const REST_SECONDS = 60
/** Events that a follower is sent at once. It gets further ones when it has read these. */
const EVENTS_AT_ONCE = 200
/** The pause before a page is read again that could not be read. */
const RETRY_MS = 1_000

type Controller = ReadableStreamDefaultController<Uint8Array>

/** What all followers of a process share. */
export interface Following {
  readonly feed: Feed
  readonly frames: SharedFrames
  /** Call it with each follower that has ended. */
  readonly ended: (follower: Follower) => void
}

/**
 * Sends events to one client, from the first pull until either side ends it. While it keeps up, it is sent what all others are
 * sent; if it is behind, it reads pages from the database.
 */
export class Follower {
  /** The digest of its key, if it has one. */
  readonly keyDigest: string | null
  readonly #scope: RequestScope
  readonly #following: Following
  readonly #filter: EventFilter
  readonly #start: Start
  readonly #open: DisposableStack
  #controller: Controller | null = null
  /** Set while the client has read everything and waits. */
  #sent: (() => void) | null = null
  #sentAt = systemClock.now()
  /** The number of the next event; `null` while it is behind. */
  #next: number | null
  /** The place that it has reached, as far as it is known: at least when it is behind. */
  #place: EventPlace
  /** The place that it was sent last. */
  #sentPlace: EventPlace
  #reset: ResetReason | null = null
  #isAtWork = false

  /** Call it right after `Feed.current`, so that it misses nothing. It disposes of `open` at its end. */
  constructor(scope: RequestScope, following: Following, filter: EventFilter, start: Start, open: DisposableStack) {
    const token = bearerToken(scope.request.headers)
    this.keyDigest = scope.key === null || token === null ? null : digestOf(token)
    this.#scope = scope
    this.#following = following
    this.#filter = filter
    this.#start = start
    this.#place = start.place
    this.#sentPlace = start.place
    this.#next = following.feed.numberAfter(start.place)
    this.#open = open
    open.use(following.feed.listen(reset => this.#goOn(reset)))
    // The server closes idle connections.
    scope.server.timeout(scope.request, 0)
    scope.request.signal.addEventListener('abort', () => this.leave(), { once: true })
  }

  /** Called whenever the client has read everything so far. Resolves when something is sent. */
  pull(controller: Controller): Promise<void> | undefined {
    if (this.#open.disposed) return
    if (this.#controller === null) {
      this.#controller = controller
      controller.enqueue(beginning(this.#start))
      return
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#sent = resolve
    this.#goOn()
    return promise
  }

  /** Called now and then. */
  checkTime(): void {
    const silence = systemClock.now() - this.#sentAt
    if (this.#sent === null) {
      if (silence < STALLED_MS) return
      log.debug('a follower is cut off: it has stopped reading', { request_id: this.#scope.requestId })
      this.#cut()
    } else if (silence >= SILENCE_MS) {
      const { feed } = this.#following
      const place = this.#next === feed.next ? feed.end : this.#place
      const hasMoved = isAfter(place, this.#sentPlace)
      if (hasMoved) this.#sentPlace = place
      this.#send(hasMoved ? placeFrame(place) : COMMENT)
    }
  }

  /** Ends the stream as the server. */
  end(): void {
    if (!this.leave()) return
    this.#controller?.close()
    this.#scope.server.timeout(this.#scope.request, REST_SECONDS)
  }

  /** The client has left. Returns whether that is new. */
  leave(): boolean {
    if (this.#open.disposed) return false
    this.#open.dispose()
    this.#sent?.()
    this.#following.ended(this)
    return true
  }

  /** Sends what there is, if the client waits for it. */
  #goOn(reset: ResetReason | null = null): void {
    this.#reset = reset ?? this.#reset
    if (this.#sent === null || this.#isAtWork) return
    try {
      if (this.#reset !== null) this.#sendReset(this.#reset)
      else if (!this.#sendRecent()) void this.#sendOlder()
    } catch (error) {
      logFailure(error, this.#scope.requestId)
      this.#cut()
    }
  }

  /** Returns false if it is behind. */
  #sendRecent(): boolean {
    const { feed, frames } = this.#following
    while (this.#next !== null && this.#next < feed.next) {
      const until = Math.min(feed.next, this.#next + EVENTS_AT_ONCE)
      const bytes = frames.of(this.#next, until, this.#filter)
      if (bytes === null) {
        this.#next = null
        return false
      }
      this.#next = until
      this.#place = feed.recent(until - 1, until)?.[0] ?? this.#place
      if (bytes.length === 0) continue
      this.#sentPlace = this.#place
      this.#send(bytes)
      return true
    }
    return this.#next !== null
  }

  /** Reads pages until one has something to send, or it is not behind any more. */
  async #sendOlder(): Promise<void> {
    this.#isAtWork = true
    try {
      while (this.#next === null && this.#reset === null && !this.#open.disposed) {
        const bytes = await this.#nextPage()
        if (this.#open.disposed) return
        if (!bytes || bytes.length === 0) continue
        this.#send(bytes)
        return
      }
    } finally {
      this.#isAtWork = false
    }
    this.#goOn()
  }

  async #nextPage(): Promise<Uint8Array | null> {
    const { feed } = this.#following
    try {
      const page = await feed.after(this.#place)
      if (typeof page === 'string') {
        this.#reset = page
        return null
      }
      // The feed must have read as far, or it would send these events again.
      while (feed.isBefore(page.place) && this.#reset === null && !this.#open.disposed) await feed.current()
      this.#place = page.place
      this.#next = feed.numberAfter(page.place)
      return framesOf(page.events, this.#filter)
    } catch (error) {
      log.debug('a follower has to wait: {reason}', { reason: errorMessage(error) })
      await pause(systemClock, RETRY_MS, feed.stopping)
      return null
    }
  }

  #sendReset(reason: ResetReason): void {
    const { feed } = this.#following
    this.#reset = null
    this.#next = feed.next
    this.#place = feed.end
    this.#sentPlace = feed.end
    this.#send(resetFrame(reason, feed.end))
  }

  #send(bytes: Uint8Array): void {
    if (this.#open.disposed) return
    this.#sentAt = systemClock.now()
    const sent = this.#sent
    this.#sent = null
    this.#controller?.enqueue(bytes)
    sent?.()
  }

  #cut(): void {
    if (!this.leave()) return
    // Otherwise the connection would stay open until the client reads again.
    this.#scope.server.timeout(this.#scope.request, CUT_SECONDS)
    // Without an argument: the runtime would print the error.
    this.#controller?.error()
  }
}
