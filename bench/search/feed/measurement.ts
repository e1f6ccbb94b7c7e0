import type { SeededDatabase } from '../../catalog/bench.ts'
import { service } from '../../catalog/servers.ts'
import { type Durations, durationsOf } from '../../durations.ts'
import { PAUSES_EVERY_MS, watchHealth } from '../../health.ts'
import { memoryKibibytes, type RunningServer, startServer } from '../../server-process.ts'
import { WORKING_TREE } from '../../stockroom.ts'
import { askRight } from '../asking.ts'
import { startCrowd } from './crowd.ts'

/** Connections besides those of followers. */
const SPARE_CONNECTIONS = 100

/** Changes that are made as fast as they are answered, by so many clients at once. */
const BURST_CLIENTS = 8
const BURST_DELIVERIES = 400_000
const BURST_CHANGES_MAX = 2_000

/** How long no event may come before the rest counts as missing. */
const PATIENCE_MS = 5_000

/** Besides the number of the command line. */
const FOLLOWER_STEPS = [100, 1_000]

/** The memory of fewer is lost in that of the rest. */
const FOLLOWERS_TO_WEIGH = 1_000

/** Of the products whose changes are followed. */
const PRODUCTS = 100

export interface FeedPressure {
  readonly followers: number
  readonly changesPerSecond: number
  readonly seconds: number
}

export interface FeedFigures {
  readonly followers: number
  /** Whether the followers are on another process than the one that is written to. */
  readonly isOther: boolean
  /** From the acknowledgement of a change to an event; 0 if the event came first. */
  readonly latency: Durations
  readonly missing: number
  /** Events that followers got per second in a burst, to all of them together. */
  readonly burstPerSecond: number
  /** CPU time of the process of the followers for one event to one follower, in the burst. */
  readonly processorMicroseconds: number | null
  /** Null if there are too few to tell. */
  readonly kibibytesPerFollower: number | null
  /** The longest round trip of a health check on the process of the followers, at the steady rate. */
  readonly pause: number
}

/** Measures the feed on the process that is written to, then on another one. */
export async function measureFeed(
  database: SeededDatabase,
  folder: string,
  pressure: FeedPressure,
  interrupted: AbortSignal,
): Promise<FeedFigures[]> {
  await using stack = new AsyncDisposableStack()
  const copy = stack.use(await database.copy(true))
  const most = String(pressure.followers + SPARE_CONNECTIONS)
  const server = service(WORKING_TREE).on(copy.address)
  const command = {
    ...server,
    command: [...server.command, '--connections-max', most, '--streams-per-address', most],
  }
  const start = async () => stack.use(await startServer(command, interrupted))
  const [writer, other] = [await start(), await start()]
  const figures: FeedFigures[] = []
  // Few at first: what an event takes when nothing is busy.
  const steps = [...FOLLOWER_STEPS, pressure.followers].filter(step => step <= pressure.followers)
  for (const followers of new Set(steps)) {
    for (const followed of [writer, other]) {
      console.error(`  ${followers} followers on ${followed === writer ? 'the same process' : 'another process'}`)
      figures.push(await measureFollowers(writer, followed, folder, { ...pressure, followers }, interrupted))
    }
  }
  return figures
}

let changes = 0

async function measureFollowers(
  writer: RunningServer,
  followed: RunningServer,
  folder: string,
  { followers, changesPerSecond, seconds }: FeedPressure,
  interrupted: AbortSignal,
): Promise<FeedFigures> {
  const idle = memoryKibibytes(followed)
  await using crowd = await startCrowd(followed.address, followers, folder, interrupted)
  const acknowledged = new Map<number, number>()

  const health = await watchHealth(followed, PAUSES_EVERY_MS)
  const steady = Math.round(changesPerSecond * seconds)
  const begun = performance.now()
  for (let change = 0; change < steady; change++) {
    await Bun.sleep(Math.max(0, begun + (change * 1000) / changesPerSecond - performance.now()))
    interrupted.throwIfAborted()
    acknowledged.set(...(await changeProduct(writer)))
  }
  const received = await crowd.untilReceived(steady * followers, PATIENCE_MS)
  const pause = (await health.waits()).clock.worst
  const memory = memoryKibibytes(followed)

  const burst = Math.min(BURST_CHANGES_MAX, Math.max(BURST_CLIENTS, Math.round(BURST_DELIVERIES / followers)))
  const processor = followed.processorSeconds()
  const burstBegun = performance.timeOrigin + performance.now()
  let left = burst
  const writing = async () => {
    while (left-- > 0) await changeProduct(writer)
  }
  await Promise.all(Array.from({ length: BURST_CLIENTS }, writing))
  const all = await crowd.untilReceived((steady + burst) * followers, PATIENCE_MS)
  const used = processor === null ? null : (followed.processorSeconds() ?? 0) - processor

  const times = await crowd.end()
  const latencies: number[] = []
  let last = burstBegun
  for (const [price, came] of times) {
    const at = acknowledged.get(price)
    for (const time of came) {
      if (at === undefined) last = Math.max(last, time)
      else latencies.push(Math.max(0, time - at))
    }
  }
  return {
    followers,
    isOther: writer !== followed,
    latency: durationsOf(latencies),
    missing: (steady + burst) * followers - all,
    burstPerSecond: ((all - received) / (last - burstBegun)) * 1000,
    processorMicroseconds: used && (used * 1e6) / (all - received),
    kibibytesPerFollower: followers < FOLLOWERS_TO_WEIGH ? null : (memory - idle) / followers,
    pause,
  }
}

/** Gives a product a price that no change before had; returns the price and when the change was acknowledged. */
async function changeProduct({ address }: RunningServer): Promise<[price: number, time: number]> {
  const price = 1_000 + changes++
  await askRight(address, `/products/${1 + (changes % PRODUCTS)}`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'Followed product', description: 'Its price changes often.', price }),
  })
  return [price, performance.timeOrigin + performance.now()]
}
