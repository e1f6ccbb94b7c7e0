import { pause, systemClock } from '../../clock.ts'
import { parsedPath, queryOf } from '../../server/request-target.ts'
import { NDJSON_TYPE } from '../http/validation/ndjson-type.ts'
import type { FeedEvent } from './event.ts'
import type { Feed, ResetReason } from './feed.ts'
import type { EventFilter } from './filter.ts'
import { resetAt, type Start } from './frames.ts'
import { type EventPlace, eventIdOf } from './place.ts'

/** Pages that one poll reads while its filter leaves everything out. */
const PAGES_MAX = 20

export interface Poll {
  readonly start: Start
  readonly filter: EventFilter
  readonly limit: number
  readonly waitMs: number
  readonly signal: AbortSignal
}

/** Answers with the next events, one per line. If there are none, waits for the first. */
export async function pollResponse(feed: Feed, url: string, poll: Poll): Promise<Response> {
  const { start, filter, limit, waitMs, signal } = poll
  if (start.reset) return reset(feed, url, start.reset)
  const until = systemClock.now() + waitMs
  const events: FeedEvent[] = []
  /** How far it has read, and the last place up to there that the client may remember. */
  let [reached, lasting] = [start.place, start.place]
  for (let pages = 1; ; pages += 1) {
    const page = await feed.after(reached)
    if (typeof page === 'string') return reset(feed, url, page)
    for (const event of page.events) if (filter.passes(event) && events.length < limit) events.push(event)
    const last = events[limit - 1]
    if (last) return linesResponse(url, events, last)
    reached = page.place
    lasting = page.lasting ?? lasting
    if (!page.isEnd && pages < PAGES_MAX) continue
    const leftMs = until - systemClock.now()
    if (events.length > 0 || leftMs <= 0 || signal.aborted || feed.stopping.aborted) {
      return linesResponse(url, events, lasting)
    }
    if (!feed.isCurrent(reached)) continue
    await advance(feed, leftMs, signal)
    // The transactions after it have no changes, and may have been removed meanwhile.
    reached = lasting
  }
}

async function reset(feed: Feed, url: string, reason: ResetReason): Promise<Response> {
  await feed.current()
  return linesResponse(url, [resetAt(reason, feed.end)], feed.end)
}

/** Waits for further events, for a time at most. */
async function advance(feed: Feed, milliseconds: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  using _ = feed.listen(() => over.abort())
  await pause(systemClock, milliseconds, AbortSignal.any([over.signal, signal, feed.stopping]))
}

/** `Link` keeps the request's other parameters. */
export function linesResponse(url: string, events: readonly Pick<FeedEvent, 'json'>[], next: EventPlace): Response {
  const query = new URLSearchParams({ since: eventIdOf(next) })
  for (const [name, value] of new URLSearchParams(queryOf(url))) if (name !== 'since') query.append(name, value)
  return new Response(events.map(({ json }) => `${json}\n`).join(''), {
    headers: { 'Content-Type': NDJSON_TYPE, Vary: 'Accept', Link: `<${parsedPath(url)}?${query}>; rel="next"` },
  })
}
