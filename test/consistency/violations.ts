import type { Followed, Lists, Read, Registers, Write } from './history.ts'

/**
 * Reads of growing values that no single copy of the store could have answered: older than a write that was acknowledged
 * before, older than another read that had ended before, or a value that nobody had written yet.
 */
export function registerViolations({ writes, reads }: Registers): string[] {
  return keysOf(writes, reads).flatMap(key => {
    const written = writes.filter(write => write.key === key)
    const invokedAt = new Map(written.map(write => [write.value, write.invokedAt]))
    const known = [
      ...written.map(({ acknowledgedAt, value }) => ({ at: acknowledgedAt, level: value })),
      ...reads.filter(read => read.key === key).map(({ completedAt, value }) => ({ at: completedAt, level: value })),
    ]
    const floorAt = floorOf(known)
    return reads
      .filter(read => read.key === key)
      .flatMap(read => {
        const floor = floorAt(read.invokedAt)
        if (read.value < floor) return [`${described(read)} shows ${read.value} after ${floor} was known`]
        const began = invokedAt.get(read.value)
        if (began === undefined || began > read.completedAt)
          return [`${described(read)} shows ${read.value}, never written`]
        return []
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
  const floorAt = floorOf(known)
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

/** The highest level that was known at a time: of all that had been answered before it. */
function floorOf(known: readonly { readonly at: number | null; readonly level: number }[]): (time: number) => number {
  const times: number[] = []
  const floors: number[] = []
  let floor = Number.NEGATIVE_INFINITY
  const answered = known.flatMap(({ at, level }) => (at === null ? [] : [{ at, level }]))
  for (const { at, level } of answered.toSorted((one, other) => one.at - other.at)) {
    floor = Math.max(floor, level)
    times.push(at)
    floors.push(floor)
  }
  return time => floors[countBefore(times, time) - 1] ?? Number.NEGATIVE_INFINITY
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

function described({ client, key, source }: Read<unknown>): string {
  return `${key}: client ${client} at ${source}`
}
