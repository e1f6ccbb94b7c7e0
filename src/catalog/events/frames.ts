import { cloudEvent, type FeedEvent } from './event.ts'
import type { Feed, ResetReason } from './feed.ts'
import type { EventFilter } from './filter.ts'
import { type EventPlace, eventIdOf } from './place.ts'

/** How long a client waits before it connects again. */
const RETRY_MS = 1_000

const ENCODER = new TextEncoder()

/** Keeps a silent connection open. */
export const COMMENT = ENCODER.encode(':\n\n')

/** The place from which a follower gets events. */
export interface Start {
  readonly place: EventPlace
  /** Whether it goes on after an id that the client has. */
  readonly isResumed: boolean
  /** Why it does not, although the client wants it to. */
  readonly reset: ResetReason | null
}

/** The first frame of a stream. It tells the place after which events follow. */
export function beginning({ place, isResumed, reset }: Start): Uint8Array {
  const first = reset ? resetAt(reset, place) : state('ready', place, { resumed: isResumed })
  return ENCODER.encode(`retry: ${RETRY_MS}\n\n${frame(first)}`)
}

/** The frames of the events that pass. */
export function framesOf(events: readonly FeedEvent[], { passes }: EventFilter): Uint8Array {
  let text = ''
  for (const event of events) if (passes(event)) text += frame(event)
  return ENCODER.encode(text)
}

/** A browser repeats the place in `Last-Event-ID` when it reconnects. */
export function placeFrame(place: EventPlace): Uint8Array {
  return ENCODER.encode(`id: ${eventIdOf(place)}\n\n`)
}

export function resetFrame(reason: ResetReason, place: EventPlace): Uint8Array {
  return ENCODER.encode(frame(resetAt(reason, place)))
}

/** Tells a follower to read everything again, and then to go on from a place. */
export function resetAt(reason: ResetReason, place: EventPlace) {
  return state('reset', place, { reason })
}

function state(type: 'ready' | 'reset', place: EventPlace, data: Readonly<Record<string, unknown>>) {
  const id = eventIdOf(place)
  return { type, id, json: cloudEvent(id, Date.now(), { type, data }) }
}

/** A server-sent event (WHATWG HTML, 9.2.6). JSON has no line breaks. */
function frame({ type, id, json }: Pick<FeedEvent, 'type' | 'id' | 'json'>): string {
  return `event: ${type}\nid: ${id}\ndata: ${json}\n\n`
}

/** The frames of recent events, made once for all followers with the same filter. */
export class SharedFrames {
  readonly #feed: Feed
  readonly #made = new Map<string, Uint8Array>()
  #madeAt = -1

  constructor(feed: Feed) {
    this.#feed = feed
  }

  /** The frames from one event up to another; `null` if these are not in memory any more. */
  of(from: number, until: number, filter: EventFilter): Uint8Array | null {
    if (this.#madeAt !== this.#feed.next) this.#made.clear()
    this.#madeAt = this.#feed.next
    const key = `${from} ${until} ${filter.key}`
    const made = this.#made.get(key)
    if (made) return made
    const events = this.#feed.recent(from, until)
    if (!events) return null
    const frames = framesOf(events, filter)
    this.#made.set(key, frames)
    return frames
  }
}
