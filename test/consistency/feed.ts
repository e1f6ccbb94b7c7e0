import { EventFollower, type Frame } from '../harness/catalog/follower.ts'
import type { Observations } from './workload.ts'

/** A follower stays with a process for a time of this length at most. */
const STAYS_MAX_MS = 300
/** A client that could not connect waits a little, as the service may be starting again. */
const FAILED_PAUSE_MS = 100
/** At the end, a stream that is silent for so long has told everything. */
const SILENCE_MS = 1_000

/** A client that follows the feed at one process after another. */
export interface FeedFollower {
  readonly source: string
  /** All events that it was told, and `reset`, in their order. */
  readonly frames: Frame[]
}

interface Following {
  readonly anyAddress: () => string
  /** Whether something is still being written. */
  readonly isGoingOn: () => boolean
}

/** Follows from the beginning, leaves each stream after a while, and goes on at any process, until all is told. */
export async function followFeed(follower: FeedFollower, { anyAddress, isGoingOn }: Following): Promise<void> {
  let lastId = 'start'
  for (;;) {
    const isLast = !isGoingOn()
    await using stream = await EventFollower.at(anyAddress(), `/events?since=${lastId}`).catch(() => null)
    if (stream === null) {
      await Bun.sleep(FAILED_PAUSE_MS)
      continue
    }
    if (isLast) await silence(stream)
    else await Promise.race([Bun.sleep(Math.random() * STAYS_MAX_MS), stream.ended()])
    const isWhole = isLast && !stream.isEnded
    follower.frames.push(...stream.frames.filter(({ event }) => event !== null && event !== 'ready'))
    lastId = stream.lastId
    if (isWhole) return
  }
}

/** Resolves when nothing more comes. */
async function silence(stream: EventFollower): Promise<void> {
  for (let count = -1; count < stream.frames.length && !stream.isEnded; ) {
    count = stream.frames.length
    await Bun.sleep(SILENCE_MS)
  }
}

/** Followers that missed a change, were told of one twice, or of changes to one product in another order than they were made. */
export function feedViolations(
  followers: readonly FeedFollower[],
  { registers, followed }: Pick<Observations, 'registers' | 'followed'>,
): string[] {
  const [products, reviews] = followed
  const created = [
    ...(products?.acknowledgedIds ?? []).map(id => `product.created ${id}`),
    ...(reviews?.acknowledgedIds ?? []).map(id => `review.created ${id}`),
  ]
  const updated = registers.writes
    .filter(({ acknowledgedAt, value }) => acknowledgedAt !== null && value > 1)
    .map(({ key, value }) => `${key} costs ${value}`)
  return followers.flatMap(({ source, frames }) => {
    const told = frames.map(({ event, data }) => ({ event, ...data?.data }) as Told)
    const seen = told.flatMap(({ event, id, price }) => [
      `${event} ${id}`,
      ...(event === 'product.updated' ? [`product ${id} costs ${price}`] : []),
    ])
    const known = new Set(seen)
    const missed = [...created, ...updated].filter(change => !known.has(change))
    const ids = frames.map(({ id }) => id)
    const prices = Map.groupBy(
      told.filter(({ event }) => event === 'product.updated'),
      ({ id }) => id,
    )
    const unordered = [...prices].filter(([, updates]) =>
      updates.some(({ price }, place) => place > 0 && price <= (updates[place - 1]?.price ?? 0)),
    )
    return [
      ...(missed.length > 0 ? [`${source} was not told of ${missed.length} changes: ${missed.slice(0, 5)}`] : []),
      ...(new Set(ids).size < ids.length ? [`${source} was told of an event twice`] : []),
      ...(frames.some(({ event }) => event === 'reset') ? [`${source} had to read everything again`] : []),
      ...unordered.map(([id, updates]) => `${source}: product ${id} cost ${updates.map(({ price }) => price)}`),
    ]
  })
}

interface Told {
  readonly event: string
  readonly id: number
  readonly price: number
}
