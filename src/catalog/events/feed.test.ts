import { heapStats } from 'bun:jsc'
import { expect, spyOn, test } from 'bun:test'
import { setImmediate as turn } from 'node:timers/promises'
import { systemClock } from '../../clock.ts'
import type { ChangeHistory, LoggedTransaction } from '../../database/change.ts'
import { eventsOf } from './event.ts'
import { Feed } from './feed.ts'
import type { EventFilter } from './filter.ts'
import { Follower } from './follower.ts'
import { SharedFrames } from './frames.ts'
import type { EventPlace } from './place.ts'
import { type Poll, pollResponse } from './poll.ts'

const EVENTS = 1_000
const FILTERS = 100
/** Somewhat more than is kept. */
const KEPT_MAX_BYTES = 20_000_000

/** The place of the first transaction. */
const START: EventPlace = { position: 0, tag: 1, index: 0 }

test('frames for followers at many places and with many filters do not fill the memory', async () => {
  await using shop = await quietShop()
  const shared = new SharedFrames(shop.feed)
  const made: WeakRef<Uint8Array>[] = []
  let madeBytes = 0
  for (let filter = 0; filter < FILTERS; filter += 1) {
    const all = { key: String(filter), passes: () => true }
    for (let place: EventPlace | undefined = shop.start; place; ) {
      const frames = shared.after(place, all)
      if (frames) made.push(new WeakRef(frames.bytes))
      madeBytes += frames?.bytes.length ?? 0
      place = frames?.place
    }
  }
  await Bun.sleep(0)
  Bun.gc(true)
  const keptBytes = made.reduce((sum, bytes) => sum + (bytes.deref()?.length ?? 0), 0)
  // Still in use.
  expect(shared.after(shop.start, { key: 'none', passes: () => false })?.bytes).toHaveLength(0)
  expect(madeBytes).toBeGreaterThan(2 * KEPT_MAX_BYTES)
  expect(keptBytes).toBeLessThan(KEPT_MAX_BYTES)
})

test('empty frames, for followers whose filters let nothing pass, do not fill the memory either', async () => {
  await using shop = await quietShop()
  const shared = new SharedFrames(shop.feed)
  const events = shop.feed.recentAfter(shop.start, 1)
  const [last] = events
  if (!last) throw new Error('there are no events')
  Bun.gc(true)
  const before = heapStats().heapSize
  // All of them would take 33 MB.
  for (let filter = 0; filter < 150_000; filter += 1) {
    shared.of(events, { key: String(filter), passes: () => false }, last)
  }
  await Bun.sleep(0)
  Bun.gc(true)
  expect(heapStats().heapSize - before).toBeLessThan(KEPT_MAX_BYTES)
  expect(shared.of(events, { key: '0', passes: () => false }, last).bytes).toHaveLength(0)
})

test('a follower that returns after an event in memory costs no look at the log', async () => {
  await using shop = await quietShop()
  const [place] = shop.feed.recentAfter({ ...shop.start, position: EVENTS / 2 }, 1)
  if (!place) throw new Error('there are no events')
  const before = shop.reads()
  expect(await shop.feed.find(place)).toEqual(place)
  expect(shop.reads()).toBe(before)
  expect(await shop.feed.find({ ...place, tag: 2 })).toBe('unknown')
})

test('while many read old events, other requests run in between', async () => {
  await using shop = await quietShop()
  let isRead = false
  const pages = Array.from({ length: 20 }, (_, position) => shop.feed.after({ ...shop.start, position }))
  const reading = Promise.all(pages).then(() => {
    isRead = true
  })
  let turns = 0
  for (; !isRead; turns += 1) await turn()
  await reading
  expect(turns).toBeGreaterThan(pages.length / 2)
})

test('all that wait at the same place, as after a restart, share one read and one set of frames', async () => {
  await using shop = await quietShop()
  const before = shop.reads()
  const [page, ...others] = await Promise.all(Array.from({ length: 20 }, () => shop.feed.after(shop.start)))
  expect(shop.reads()).toBe(before + 1)
  if (!page || typeof page === 'string') throw new Error('there is no page')
  expect(others.every(other => other === page)).toBe(true)
  const shared = new SharedFrames(shop.feed)
  const all = { key: '', passes: () => true }
  expect(shared.of(page.events, all, page.place)).toBe(shared.of([...page.events], all, page.place))
})

test('a silent follower that catches up is told no place that is removed early from the log', async () => {
  const [first, empty, last] = [transaction(0), transaction(1, false), transaction(2)]
  const reads: number[] = []
  const feed = feedOf([first, last], from => {
    reads.push(from)
    if (from === 2) return Promise.resolve({ transactions: [last], isEnd: true })
    return from === 0 ? Promise.resolve({ transactions: [first, empty], isEnd: false }) : new Promise(() => {})
  })
  await feed.current()
  using follower = followerOf(feed, { key: 'none', passes: () => false })
  const bytes = follower.bytes()
  await bytes.next()
  const next = bytes.next()
  while (!reads.includes(1)) await turn()
  const later = systemClock.now() + 60_000
  using _ = spyOn(systemClock, 'now').mockReturnValue(later)
  follower.checkTime()
  expect(new TextDecoder().decode((await next).value ?? undefined)).toBe(':\n\n')
  // It is silent again only after some more time.
  const further = bytes.next()
  follower.checkTime()
  expect(await Promise.race([further, turn('nothing')])).toBe('nothing')
  await feed.stop()
})

test('a slow follower that catches up is not sent away when a transaction without changes that it has read is removed', async () => {
  const [first, made, empty, last] = [transaction(0), transaction(1), transaction(2, false), transaction(3)]
  let log = [first, made, empty, last]
  const feed = feedOf([first, last], async from => {
    const transactions = log.filter(({ position }) => position >= from)
    return from === 0 ? { transactions: transactions.slice(0, -1), isEnd: false } : { transactions, isEnd: true }
  })
  await feed.current()
  using follower = followerOf(feed, { key: '', passes: () => true })
  const bytes = follower.bytes()
  const next = async () => await nextText(bytes)
  await next()
  expect(await next()).toStartWith('event: category.created\nid: 1.1\n')
  // While its client reads this.
  log = [first, made, last]
  expect(await next()).toStartWith('event: category.created\nid: 3.1\n')
  await feed.stop()
})

test('followers are not sent away when the transaction without changes that the feed has read last is removed', async () => {
  const [first, empty, made] = [transaction(0), transaction(1, false), transaction(2)]
  let log = [first, empty]
  const feed = feedOf([first], async from => ({
    transactions: log.filter(({ position }) => position >= from),
    isEnd: true,
  }))
  await feed.current()
  using follower = followerOf(feed, { key: '', passes: () => true })
  const bytes = follower.bytes()
  await bytes.next()
  // While its process was paused.
  log = [first, made]
  await feed.current()
  expect(await nextText(bytes)).toStartWith('event: category.created\nid: 2.1\n')
  await feed.stop()
})

test('a poll that waits is not sent away when a transaction without changes that it has read is removed', async () => {
  const first = transaction(0)
  let log = [first, transaction(1, false)]
  const reads: number[] = []
  const feed = feedOf([first], async from => {
    reads.push(from)
    return { transactions: log.filter(({ position }) => position >= from), isEnd: true }
  })
  await feed.current()
  const poll = waitingPoll(feed)
  while (!reads.includes(1)) await turn()
  log = [...log, transaction(2, false)]
  while (!reads.includes(2)) await turn()
  log = [first, transaction(2, false), transaction(3)]
  const answered = await poll
  expect(JSON.parse(await answered.text())).toMatchObject({ type: 'category.created', id: '3.1' })
  expect(answered.headers.get('Link')).toBe('</events?since=3.1>; rel="next"')
  await feed.stop()
})

test('a poll that waits is answered when its client leaves, and when the process stops', async () => {
  const first = transaction(0)
  const feed = feedOf([first], async () => ({ transactions: [first], isEnd: true }))
  await feed.current()
  const leaving = new AbortController()
  const polls = [waitingPoll(feed, { signal: leaving.signal }), waitingPoll(feed)] as const
  // Until both wait.
  for (let turns = 0; turns < 20; turns += 1) await turn()
  leaving.abort()
  expect((await polls[0]).headers.get('Link')).toBe('</events?since=0.1>; rel="next"')
  expect(await Promise.race([polls[1], turn('waits')])).toBe('waits')
  await feed.stop()
  expect(await (await polls[1]).text()).toBe('')
})

test('a poll does not wait for an event that came while it was reading', async () => {
  const [first, made] = [transaction(0), transaction(1)]
  let isPolling = false
  const feed = feedOf([first], async from => {
    const isTooEarly = isPolling
    isPolling = false
    if (isTooEarly) return { transactions: [first], isEnd: true }
    return { transactions: [first, made].slice(from), isEnd: true }
  })
  await feed.current()
  isPolling = true
  const answered = await waitingPoll(feed)
  expect(JSON.parse(await answered.text())).toMatchObject({ id: '1.1' })
  await feed.stop()
})

test('a poll whose filter leaves everything out reads a few pages, and leads on from there', async () => {
  let reads = 0
  const feed = feedOf([transaction(0)], async from => {
    reads += 1
    return { transactions: [transaction(from), transaction(from + 1)], isEnd: reads === 1_000 }
  })
  const answered = await waitingPoll(feed, { waitMs: 0, filter: { key: '', passes: () => false } })
  expect(await answered.text()).toBe('')
  expect(answered.headers.get('Link')).toBe(`</events?since=${reads}.1>; rel="next"`)
  expect(reads).toBeLessThan(100)
})

test('followers are told at once of what was read before the database went away', async () => {
  const [first, made] = [transaction(0), transaction(1)]
  let hasGrown = false
  let readsAfterFailure = -1
  const feed = feedOf([first], async from => {
    if (!hasGrown) return { transactions: [first], isEnd: true }
    if (from === 0) return { transactions: [first, made], isEnd: false }
    readsAfterFailure += 1
    if (readsAfterFailure === 0) throw new Error('the database is away')
    return { transactions: [made], isEnd: true }
  })
  await feed.current()
  let told = 0
  using _ = feed.listen(() => {
    told += 1
  })
  hasGrown = true
  while (readsAfterFailure < 2) await turn()
  expect(told).toBe(1)
  await feed.stop()
})

test('a feed that could not be started starts for the next follower', async () => {
  const first = transaction(0)
  let isAway = true
  const feed = new Feed({
    begin: async () => {},
    first: async () => first,
    last: async () => {
      if (isAway) throw new Error('the database is away')
      return first
    },
    read: async () => ({ transactions: [first], isEnd: true }),
    removeOld: async () => {},
  })
  await expect(feed.current()).rejects.toThrow('the database is away')
  isAway = false
  await feed.current()
  expect(feed.end).toEqual(START)
  await feed.stop()
})

test('a slow follower is told to read everything again, although further events have come since', async () => {
  const [first, restored, made] = [transaction(0), { ...transaction(0), tag: 2 }, { ...transaction(1), tag: 2 }]
  let log = [first]
  const feed = new Feed({
    begin: async () => {},
    first: async () => log[0] ?? first,
    last: async () => log.at(-1) ?? first,
    read: async from => ({ transactions: log.filter(({ position }) => position >= from), isEnd: true }),
    removeOld: async () => {},
  })
  await feed.current()
  using follower = followerOf(feed, { key: '', passes: () => true })
  const bytes = follower.bytes()
  await bytes.next()
  log = [restored]
  await feed.current()
  log = [restored, made]
  await feed.current()
  expect(await nextText(bytes)).toStartWith('event: reset\n')
  await feed.stop()
})

test('a follower whose next events were removed before it has read them is told to read everything again', async () => {
  const last = transaction(6)
  const feed = feedOf([transaction(5), last], async from => ({ transactions: from === 6 ? [last] : [], isEnd: true }))
  await feed.current()
  using follower = followerOf(feed, { key: '', passes: () => true })
  const bytes = follower.bytes()
  await bytes.next()
  const told = await nextText(bytes)
  expect(told).toStartWith('event: reset\nid: 6.1\n')
  expect(told).toContain('"reason":"expired"')
  await feed.stop()
})

test('a follower whose next events are no longer in memory gets them from the database', async () => {
  const log = Array.from({ length: 12_000 }, (_, position) => transaction(position))
  const feed = feedOf([transaction(0)], async from => ({
    transactions: log.slice(from, from + 1_000),
    isEnd: from + 1_000 >= log.length,
  }))
  await feed.current()
  using follower = followerOf(feed, { key: '', passes: () => true })
  const bytes = follower.bytes()
  await bytes.next()
  const page = await nextText(bytes)
  expect(page).toStartWith('event: category.created\nid: 1.1\n')
  await feed.stop()
})

test('the log is read for as long as anybody follows, and again when somebody returns', async () => {
  const first = transaction(0)
  let reads = 0
  const feed = feedOf([first], async () => {
    reads += 1
    return { transactions: [first], isEnd: true }
  })
  const readOn = async () => {
    const before = reads
    while (reads < before + 2) await turn()
  }
  using now = spyOn(systemClock, 'now')
  {
    await feed.current()
    using _ = followerOf(feed, { key: '', passes: () => true })
    now.mockReturnValue(systemClock.now() + 60_000)
    await readOn()
  }
  now.mockReturnValue(systemClock.now() + 60_000)
  // The last look may have begun.
  for (let before = -1; before !== reads; await Bun.sleep(100)) before = reads
  await feed.current()
  using _ = feed.listen(() => {})
  await readOn()
  await feed.stop()
})

test('a follower whose page cannot be read waits before it tries again', async () => {
  const [first, last] = [transaction(0), transaction(1)]
  let failures = 0
  const feed = feedOf([first, last], async from => {
    if (from === 1) return { transactions: [last], isEnd: true }
    failures += 1
    throw new Error('the database is away')
  })
  await feed.current()
  using follower = followerOf(feed, { key: '', passes: () => true })
  const bytes = follower.bytes()
  await bytes.next()
  void bytes.next()
  for (let turns = 0; turns < 100; turns += 1) await turn()
  expect(failures).toBeWithin(1, 10)
  await feed.stop()
})

test('a page that could not be read keeps no follower from the next one', async () => {
  const [first, made] = [transaction(0), transaction(1)]
  let isAway = false
  const feed = feedOf([first], async () => {
    if (isAway) throw new Error('the database is away')
    return { transactions: [first, made], isEnd: true }
  })
  await feed.current()
  isAway = true
  await expect(feed.after(START)).rejects.toThrow('the database is away')
  isAway = false
  expect(await feed.after(START)).toMatchObject({ place: { position: 1 }, isEnd: true })
  await feed.stop()
})

test('a change of a table that only a newer version of the program knows is no event', () => {
  const changes = ['orders', 'categories'].map(table => ({ table, id: 1, before: null, after: {} }))
  const events = eventsOf({ position: 1, tag: 1, time: 0, isLasting: true, changes })
  expect(events.map(({ id, type }) => ({ id, type }))).toEqual([{ id: '1.1', type: 'category.created' }])
})

/** A feed that somebody follows from the start, with events of the longest kind. */
async function quietShop() {
  const values = { name: '\u0001'.repeat(50) }
  const log: LoggedTransaction[] = Array.from({ length: EVENTS + 1 }, (_, position) => ({
    ...{ position, tag: 1, time: 0, isLasting: true },
    changes: position === 0 ? [] : [{ table: 'categories', id: position, before: null, after: {}, values }],
  }))
  const [first] = log
  if (!first) throw new Error('the log is empty')
  let reads = 0
  const feed = feedOf([first], async from => {
    reads += 1
    return { transactions: log.slice(from), isEnd: true }
  })
  await feed.current()
  return { feed, start: START, reads: () => reads, [Symbol.asyncDispose]: () => feed.stop() }
}

function transaction(position: number, isLasting = true): LoggedTransaction {
  const changes = isLasting ? [{ table: 'categories', id: position, before: null, after: {} }] : []
  return { position, tag: 1, time: 0, isLasting, changes }
}

/** A feed of a log with this first transaction and, when it begins to follow, this last one. */
function feedOf(
  [first, last = first]: readonly [LoggedTransaction, LoggedTransaction?],
  read: ChangeHistory['read'],
): Feed {
  const [begin, removeOld] = [async () => {}, async () => {}]
  return new Feed({ begin, first: async () => first, last: async () => last, read, removeOld })
}

async function nextText(bytes: AsyncIterator<Uint8Array>): Promise<string> {
  return new TextDecoder().decode((await bytes.next()).value ?? new Uint8Array())
}

/** A poll from the start, which waits for a minute by default. */
function waitingPoll(feed: Feed, options: Partial<Poll> = {}): Promise<Response> {
  return pollResponse(feed, 'http://localhost/events', {
    start: { place: START, isResumed: true, reset: null },
    filter: { key: '', passes: () => true },
    ...{ limit: 10, waitMs: 60_000, signal: new AbortController().signal },
    ...options,
  })
}

function followerOf(feed: Feed, filter: EventFilter): Follower {
  return new Follower(new SharedFrames(feed), filter, { place: START, isResumed: true, reset: null })
}
