import { type Durations, shown } from '../durations.ts'
import { median } from '../statistics.ts'
import type { Table } from '../table.ts'
import type { FeedFigures } from './feed/measurement.ts'
import type { GroupFigures } from './measurement.ts'
import type { Bound, Engine, RequestGroup } from './requests.ts'
import type { WriterFigures, WriterTurn } from './writers.ts'

/** The most that the main thread may pause, on SQLite. */
const PAUSE_MAX_MS = 10

/** Least rates of writers, as a share of their rate on the version before. */
const QUIET_LEAST = 0.85
const BESIDE_LEAST = 0.5

/** For 95 of 100 events, on the same process and on another one. */
const LATENCY_MAX_MS = { same: 100, other: 300 }

/** The figures of one server. */
export interface Searched {
  readonly server: string
  readonly figures: readonly GroupFigures[]
}

/** The service's figures beside what is required, and those of peers. Without a service, those of peers alone. */
export function requestsTable(
  engine: Engine,
  groups: readonly RequestGroup[],
  service: Searched | null,
  peers: readonly Searched[],
  products: number,
): Table {
  return {
    title: `${engine}: first pages and facets over ${count(products)} products, in ms`,
    columns: [
      '',
      ...(service ? ['requests', 'median', '95 %', '99 %', 'worst', 'required', 'kept', '503s'] : []),
      ...peers.flatMap(({ server }) => [`${server} median`, '95 %', 'worst']),
    ],
    rows: groups.map(group => {
      const required = group.required[engine] ?? []
      const own = figuresOf(service, group)
      return [
        group.title,
        ...(own
          ? [
              count(own.durations.count),
              ...[own.durations.median, own.durations.p95, own.durations.p99, own.durations.worst].map(shown),
              required.map(bound).join(', '),
              verdict(
                required.map(limit => own.refused === 0 && measuredFor(own.durations, limit) <= limit.milliseconds),
              ),
              own.refused === 0 ? '' : count(own.refused),
            ]
          : []),
        ...peers.flatMap(peer => {
          const its = figuresOf(peer, group)?.durations
          return its ? [its.median, its.p95, its.worst].map(shown) : ['', '', '']
        }),
      ]
    }),
    note:
      'One request at a time over one connection, as its client sees it: the request, the engine and the answer. A write ' +
      'before each round empties the cache.',
  }
}

/** Of all servers, how long other requests waited. */
export function pausesTable(
  engine: Engine,
  groups: readonly RequestGroup[],
  service: Searched | null,
  peers: readonly Searched[],
): Table {
  const isBound = engine === 'SQLite'
  return {
    title: `${engine}: the longest round trip of /healthz meanwhile, in ms`,
    columns: [
      '',
      ...(service ? ['longest', 'work', ...(isBound ? ['required', 'kept'] : [])] : []),
      ...peers.flatMap(({ server }) => [`${server} longest`, 'work']),
    ],
    rows: groups.map(group => {
      const own = figuresOf(service, group)
      return [
        group.title,
        ...(own ? [own.pause.clock, own.pause.work].map(shown) : []),
        // A busy machine makes a round trip longer than the pause was; the work may include what came before the request.
        ...(own && isBound
          ? [`≤ ${PAUSE_MAX_MS}`, verdict([Math.min(own.pause.clock, own.pause.work) <= PAUSE_MAX_MS])]
          : []),
        ...peers.flatMap(peer => {
          const its = figuresOf(peer, group)?.pause
          return its ? [its.clock, its.work].map(shown) : ['', '']
        }),
      ]
    }),
    note:
      'Work: the most processor time of the main thread during one round trip. It is what the round trip would take on a machine ' +
      'with nothing else to do, or more. In rows with creates, those count as well.',
  }
}

export function writersTable(engine: Engine, figures: readonly WriterFigures[], revision: string | null): Table {
  const hasBefore = figures.some(({ before }) => before !== null)
  const before = hasBefore ? [`at ${revision}`] : []
  return {
    title: `${engine}: writes per second`,
    columns: [
      ...['', ...before, 'nobody searches', ...(hasBefore ? ['÷ before', `required`] : [])],
      ...['beside searches', hasBefore ? '÷ before' : '÷ nobody searches', ...(hasBefore ? ['required'] : []), 'kept'],
      ...['CPU µs', 'beside searches', 'searches: median ms', '95 %', '503s', 'index behind: worst ms'],
    ],
    rows: figures.map(({ title, before, quiet, beside, searched, behind }) => {
      const [lost, lostBeside] = [ratio(quiet, before), ratio(beside, before ?? quiet)]
      const required = hasBefore ? [(lost ?? 0) >= QUIET_LEAST, (lostBeside ?? 0) >= BESIDE_LEAST] : []
      return [
        title,
        ...(hasBefore ? [rate(before)] : []),
        rate(quiet),
        ...(hasBefore ? [share(lost), `≥ ${QUIET_LEAST}`] : []),
        rate(beside),
        share(lostBeside),
        ...(hasBefore ? [`≥ ${BESIDE_LEAST}`] : []),
        verdict(required),
        cost(quiet),
        cost(beside),
        ...[searched.durations.median, searched.durations.p95].map(shown),
        searched.refused > 0 ? count(searched.refused) : '',
        shown(behind.worst),
      ]
    }),
    note:
      'Medians over turns; the servers take turns, and ratios are medians of the ratios within a turn. Index behind: how long the ' +
      'first search takes after a turn in which nobody searched.',
  }
}

export function feedTable(engine: Engine, figures: readonly FeedFigures[], changesPerSecond: number): Table {
  return {
    title: `${engine}: the change feed, at ${changesPerSecond} changes a second`,
    columns: [
      ...['followers', 'median ms', '95 %', 'worst', 'required 95 %', 'kept', 'missing'],
      ...['events/s in a burst', 'CPU µs per event', 'KiB per follower', '/healthz longest ms'],
    ],
    rows: figures.map(({ followers, isOther, latency, missing, ...figure }) => {
      const most = isOther ? LATENCY_MAX_MS.other : LATENCY_MAX_MS.same
      return [
        `${count(followers)}, ${isOther ? 'another process' : 'the same process'}`,
        ...[latency.median, latency.p95, latency.worst].map(shown),
        `≤ ${most}`,
        verdict([latency.p95 <= most && missing === 0]),
        count(missing),
        count(Math.round(figure.burstPerSecond)),
        figure.processorMicroseconds?.toFixed(1) ?? '',
        figure.kibibytesPerFollower?.toFixed(1) ?? '',
        shown(figure.pause),
      ]
    }),
    note:
      'Milliseconds from the acknowledgement of a change to its event at a follower. Events are counted at each ' +
      'follower. The CPU time is that of the process of the followers; on the same process, with the changes.',
  }
}

function figuresOf(server: Searched | null, { name }: RequestGroup): GroupFigures | undefined {
  return server?.figures.find(({ group }) => group.name === name)
}

function measuredFor({ p95, p99, worst }: Durations, { percent }: Bound): number {
  return percent === 95 ? p95 : percent === 99 ? p99 : worst
}

function bound({ percent, milliseconds }: Bound): string {
  return `${percent === 100 ? 'each' : `${percent} %`} ≤ ${milliseconds}`
}

function verdict(kept: readonly boolean[]): string {
  if (kept.length === 0) return ''
  return kept.every(Boolean) ? 'yes' : 'NO'
}

function ratio(turns: readonly WriterTurn[] | null, others: readonly WriterTurn[] | null): number | null {
  if (!turns || !others || turns.length === 0) return null
  return median(turns.map(({ perSecond }, turn) => perSecond / (others[turn]?.perSecond ?? Number.NaN)))
}

function rate(turns: readonly WriterTurn[] | null): string {
  return turns && turns.length > 0 ? count(Math.round(median(turns.map(({ perSecond }) => perSecond)))) : ''
}

function cost(turns: readonly WriterTurn[]): string {
  const known = turns.flatMap(({ processorMicroseconds }) => processorMicroseconds ?? [])
  return known.length > 0 ? median(known).toFixed(1) : ''
}

function share(value: number | null): string {
  return value === null ? '' : value.toFixed(2)
}

function count(value: number): string {
  return value.toLocaleString('en')
}
