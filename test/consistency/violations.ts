import type { Followed, Lists, Read, Registers, Write } from './history.ts'

/**
 * Reads of growing values that no single copy of the store could have answered: older than a write that was acknowledged
 * before, older than another read that had ended before, or a value that nobody had written yet.
 */
export function registerViolations({ writes, reads }: Registers): string[] {
  return keysOf(writes, reads).flatMap(key => {
    const written = new Map(writes.filter(write => write.key === key).map(write => [write.value, write]))
    const read = reads.filter(one => one.key === key)
    const floorAt = floorOf([
      ...written.values().map(write => ({ at: write.acknowledgedAt, level: write.value, by: sent(write) })),
      ...read.map(one => ({ at: one.completedAt, level: one.value, by: described(one) })),
    ])
    const origin = (value: number) => {
      const write = written.get(value)
      return write ? `${value} was ${sent(write)}` : `nobody wrote ${value}`
    }
    return read.flatMap(one => {
      const floor = floorAt(one.invokedAt)
      const shows = `${described(one)} shows ${one.value}`
      if (floor && one.value < floor.level)
        return [
          `${shows} after ${floor.level} was known: ${origin(one.value)}; ${floor.level} was known by: ${floor.by}`,
        ]
      const write = written.get(one.value)
      return write && write.invokedAt <= one.completedAt ? [] : [`${shows} too early: ${origin(one.value)}`]
    })
  })
}

/**
 * Reads of growing lists that no single copy of the store could have answered: two reads of which neither is the beginning
 * of the other, an item that is missing although it was acknowledged or shown before, twice, or never appended.
 * Appends that did not overlap must stand in the order in which they were done.
 */
export function listViolations({ appends, reads }: Lists): string[] {
  return keysOf(appends, reads).flatMap(key => {
    const ofKey = reads.filter(read => read.key === key)
    const longest = ofKey.reduce<readonly string[]>((one, { value }) => (value.length > one.length ? value : one), [])
    return [
      ...ofKey.flatMap(read => prefixViolations(read, longest)),
      ...orderViolations(
        appends.filter(append => append.key === key),
        ofKey,
        longest,
      ),
    ]
  })
}

/** Followers that missed an item which stays, or saw one twice or out of order. */
export function followerViolations({ followers, acknowledgedIds }: Followed): string[] {
  return followers.flatMap(({ source, ids }) => {
    const seen = new Set(ids)
    const missed = acknowledgedIds.filter(id => !seen.has(id))
    const unordered = ids.filter((id, index) => index > 0 && id <= (ids[index - 1] ?? 0))
    return [
      ...(missed.length > 0
        ? [`${source} misses ${missed.length} of ${acknowledgedIds.length}: ${missed.slice(0, 5)}`]
        : []),
      ...(unordered.length > 0 ? [`${source} is not in ascending order at ${unordered.slice(0, 5)}`] : []),
    ]
  })
}

function prefixViolations(read: Read<readonly string[]>, longest: readonly string[]): string[] {
  const differs = read.value.findIndex((item, index) => item !== longest[index])
  return differs === -1
    ? []
    : [`${described(read)} has ${read.value[differs]} where another read has ${longest[differs]}`]
}

function orderViolations(
  appends: readonly Write<string>[],
  reads: readonly Read<readonly string[]>[],
  longest: readonly string[],
): string[] {
  const lengthAt = new Map(longest.map((item, index) => [item, index + 1]))
  const known = [
    ...appends.map(({ acknowledgedAt, value }) => ({
      at: acknowledgedAt,
      level: lengthAt.get(value) ?? Number.POSITIVE_INFINITY,
    })),
    ...reads.map(({ completedAt, value }) => ({ at: completedAt, level: value.length })),
  ]
  const knownAt = floorOf(known)
  const floorAt = (time: number) => knownAt(time)?.level ?? Number.NEGATIVE_INFINITY
  const begun = new Map(appends.map(({ value, invokedAt }) => [value, invokedAt]))
  return [
    ...appends
      .filter(({ acknowledgedAt, value }) => acknowledgedAt !== null && !lengthAt.has(value))
      .map(({ key, value }) => `${key}: ${value} was acknowledged, and no read shows it`),
    ...(lengthAt.size < longest.length ? ['a list shows an item twice'] : []),
    ...longest.filter(item => !begun.has(item)).map(item => `${item} is shown, and nobody appended it`),
    ...appends.flatMap(({ key, value, invokedAt }) => {
      const length = lengthAt.get(value) ?? Number.POSITIVE_INFINITY
      const floor = floorAt(invokedAt)
      return length > floor || floor === Number.POSITIVE_INFINITY
        ? []
        : [`${key}: ${value} stands at ${length}, before what was known at its beginning (${floor})`]
    }),
    ...reads.flatMap(read => {
      const floor = floorAt(read.invokedAt)
      const shown = read.value.length
      if (floor !== Number.POSITIVE_INFINITY && shown < floor)
        return [`${described(read)} has ${shown} items after ${floor} were known`]
      const early = read.value.filter(item => (begun.get(item) ?? 0) > read.completedAt)
      return early.length === 0 ? [] : [`${described(read)} shows ${early[0]} before it was sent`]
    }),
  ]
}

interface Known {
  /** `null` if nobody was ever told. */
  readonly at: number | null
  readonly level: number
}

/** Finds the read or write with the highest level among those that were answered before a given time. */
function floorOf<One extends Known>(known: readonly One[]): (time: number) => One | undefined {
  const times: number[] = []
  const floors: One[] = []
  const answered = known.flatMap(one => (one.at === null ? [] : [{ at: one.at, one }]))
  for (const { at, one } of answered.toSorted((first, second) => first.at - second.at)) {
    const floor = floors.at(-1)
    times.push(at)
    floors.push(floor && floor.level >= one.level ? floor : one)
  }
  return time => floors[countBefore(times, time) - 1]
}

/** How many of ascending `times` are before `time`. */
function countBefore(times: readonly number[], time: number): number {
  let low = 0
  let high = times.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((times[middle] ?? 0) < time) low = middle + 1
    else high = middle
  }
  return low
}

function keysOf(...kinds: readonly (readonly { readonly key: string }[])[]): string[] {
  return [...new Set(kinds.flat().map(({ key }) => key))]
}

function described({ client, key, source, invokedAt, completedAt }: Read<unknown>): string {
  return `${key}: client ${client} at ${source} from ${rounded(invokedAt)} to ${rounded(completedAt)}`
}

function sent({ client, source, invokedAt, acknowledgedAt }: Write<unknown>): string {
  const end = acknowledgedAt === null ? 'and not acknowledged' : `and acknowledged at ${rounded(acknowledgedAt)}`
  return `sent by client ${client} to ${source} at ${rounded(invokedAt)} ${end}`
}

/** In milliseconds. */
function rounded(time: number): string {
  return String(Math.round(time * 10) / 10)
}
