import { BoundedCache } from '../../limits/bounded-cache.ts'
import { cloudEvent, type FeedEvent } from './event.ts'
import type { Feed, ResetReason } from './feed.ts'
import type { EventFilter } from './filter.ts'
import { type EventPlace, eventIdOf } from './place.ts'

/** How long a client waits before it connects again. */
const RETRY_MS = 1_000

/** Events that a follower is sent at once. It gets further ones when it has read these. */
const EVENTS_AT_ONCE = 200

/** Limit on the frames that are kept for further followers. */
const SHARED_FRAMES_MAX_BYTES = 16_777_216
/** Approximate overhead of kept frames. Those of a filter that lets nothing pass have no bytes. */
const FRAMES_BYTES = 300

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

/** The frames of some events. */
export interface Frames {
  readonly bytes: Uint8Array
  /** The place after these events. */
  readonly place: EventPlace
}

/** A browser repeats the place in `Last-Event-ID` when it reconnects. */
export function placeFrame(place: EventPlace): Uint8Array {
  return ENCODER.encode(`id: ${eventIdOf(place)}\n\n`)
}

/** The frame that sends a follower to another place. */
export function resetFrames(reason: ResetReason, place: EventPlace): Frames {
  return { bytes: ENCODER.encode(frame(resetAt(reason, place))), place }
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

/** The frames of recent events, made once for all followers that need the same ones. */
export class SharedFrames {
  readonly feed: Feed
  /** By the first event, the place and the filter. Bounded, because followers may be at any place and filter as they like. */
  readonly #made = new BoundedCache(SHARED_FRAMES_MAX_BYTES).partition<string, { frames: Frames; bytes: number }>()

  constructor(feed: Feed) {
    this.feed = feed
  }

  /** The next frames after a place that the feed remembers; `null` if there are none. */
  after(place: EventPlace, filter: EventFilter): Frames | null {
    const events = this.feed.recentAfter(place, EVENTS_AT_ONCE)
    const last = events.at(-1)
    return last ? this.of(events, filter, last) : null
  }

  /** The frames of those of these events that pass. `place` is the place after all of them. */
  of(events: readonly FeedEvent[], filter: EventFilter, place: EventPlace): Frames {
    const key = `${events[0]?.id} ${eventIdOf(place)} ${filter.key}`
    const known = this.#made.get(key)
    if (known) return known.frames
    let text = ''
    for (const event of events) if (filter.passes(event)) text += frame(event)
    const frames = { bytes: ENCODER.encode(text), place }
    this.#made.set(key, { frames, bytes: FRAMES_BYTES + key.length + frames.bytes.length })
    return frames
  }
}
