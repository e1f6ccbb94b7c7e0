import { LAG_SECONDS } from '../../metrics/event-loop.ts'
import { SECONDS } from '../../metrics/histogram.ts'
import type { Window } from './window.ts'

/** The unit that a chart shows its numbers in. */
export type ChartUnit = 'count' | 'per second' | 'seconds' | 'bytes' | 'percent'

/** Names of colours in the style sheet. */
type Color = 'first' | 'second' | 'third' | 'good' | 'warning' | 'trouble'

interface Series {
  readonly name: string
  /** The metric does not distinguish smaller values. */
  readonly least?: number
  readonly color: Color
  /** `null` if there is nothing to show. */
  readonly value: (window: Window) => number | null
}

export interface Chart {
  readonly id: string
  readonly title: string
  readonly unit: ChartUnit
  /** The chart is shown if there are these metrics. */
  readonly needs: string
  readonly series: readonly Series[]
}

/** All charts that a server may have, the most important first. */
export const CHARTS: readonly Chart[] = [
  chart('requests', 'Requests', 'per second', 'stockroom_http_requests_total', [
    { name: '2xx', color: 'good', value: requestsWith('2') },
    { name: '3xx', color: 'second', value: requestsWith('3') },
    { name: '4xx', color: 'warning', value: requestsWith('4') },
    { name: '5xx', color: 'trouble', value: requestsWith('5') },
  ]),
  times('latency', 'Time to respond', 'stockroom_http_request_duration_seconds'),
  chart('connections', 'Connections', 'count', 'stockroom_http_requests_in_progress', [
    { name: 'open', color: 'first', value: gauge('stockroom_http_connections') },
    { name: 'requests in progress', color: 'second', value: gauge('stockroom_http_requests_in_progress') },
    { name: 'event streams', color: 'third', value: gauge('stockroom_event_streams') },
  ]),
  chart('answers', 'Answers of the model', 'count', 'stockroom_chat_answers_running', [
    { name: 'running', color: 'first', value: gauge('stockroom_chat_answers_running') },
    { name: 'waiting', color: 'warning', value: gauge('stockroom_chat_answers_waiting') },
    { name: 'listeners', color: 'second', value: gauge('stockroom_chat_listeners') },
  ]),
  chart('ended-answers', 'Answers that ended', 'per second', 'stockroom_model_answers_total', [
    { name: 'finished', color: 'good', value: answersWith(outcome => outcome === 'finished') },
    { name: 'stopped', color: 'second', value: answersWith(outcome => outcome === 'stopped') },
    { name: 'failed', color: 'trouble', value: answersWith(outcome => !['finished', 'stopped'].includes(outcome)) },
  ]),
  chart('tokens', 'Tokens, as answers end', 'per second', 'stockroom_model_tokens_total', [
    { name: 'output', color: 'first', value: tokensOf('output') },
    { name: 'input', color: 'second', value: tokensOf('input') },
  ]),
  times('first-piece', 'Time to the first piece of an answer', 'stockroom_model_first_piece_duration_seconds'),
  chart('commits', 'Writes to SQLite', 'per second', 'stockroom_sqlite_commit_writes', [
    { name: 'writes', color: 'first', value: window => window.rate('stockroom_sqlite_commit_writes') },
    { name: 'commits', color: 'second', value: window => window.countRate('stockroom_sqlite_commit_writes') },
  ]),
  times('sync-time', 'Time until a commit is on the disk', 'stockroom_sqlite_sync_duration_seconds'),
  chart('commit-size', 'Writes in a commit', 'count', 'stockroom_sqlite_commit_writes', [
    { name: 'mean', color: 'first', value: window => window.mean('stockroom_sqlite_commit_writes') },
    { name: 'waiting', color: 'warning', value: gauge('stockroom_sqlite_writes_waiting') },
  ]),
  chart('statements', 'Statements to PostgreSQL', 'per second', 'stockroom_postgres_statement_duration_seconds', [
    { name: 'reading', color: 'first', value: statementsOf('reading') },
    { name: 'writing', color: 'second', value: statementsOf('writing') },
  ]),
  times('statement-time', 'Time of a statement', 'stockroom_postgres_statement_duration_seconds'),
  chart('statement-queues', 'Waiting for PostgreSQL', 'count', 'stockroom_postgres_statements_in_progress', [
    { name: 'statements', color: 'first', value: gauge('stockroom_postgres_statements_in_progress') },
    { name: 'calls that share one', color: 'warning', value: gauge('stockroom_postgres_batch_waiting') },
    { name: 'calls in a statement', color: 'second', value: window => window.mean('stockroom_postgres_batch_size') },
  ]),
  chart('cache', 'Reads from the cache', 'percent', 'stockroom_cache_hits_total', [
    { name: 'hits', color: 'first', value: hitRate },
  ]),
  chart('passwords', 'Passwords to hash', 'count', 'stockroom_password_hashes_waiting', [
    { name: 'waiting', color: 'warning', value: gauge('stockroom_password_hashes_waiting') },
    { name: 'in progress', color: 'first', value: gauge('stockroom_password_hashes_in_progress') },
  ]),
  times('lag', 'Delay of the event loop', 'stockroom_event_loop_lag_seconds', LAG_SECONDS[0]),
  chart('processor', 'Processor time, of one core', 'percent', 'process_cpu_seconds_total', [
    { name: 'used', color: 'first', value: window => percent(window.rate('process_cpu_seconds_total')) },
  ]),
  chart('memory', 'Memory', 'bytes', 'process_resident_memory_bytes', [
    { name: 'occupied', color: 'first', value: gauge('process_resident_memory_bytes') },
    { name: 'cache', color: 'second', value: gauge('stockroom_cache_bytes') },
    { name: 'large requests', color: 'warning', value: gauge('stockroom_memory_budget_used_bytes') },
  ]),
]

/** The charts that a server has. */
export function chartsIn(window: Window): Chart[] {
  return CHARTS.filter(({ needs }) => window.has(needs))
}

/** The values of all series of all charts, in their order. */
export function valuesIn(window: Window): (number | null)[] {
  return CHARTS.flatMap(({ series }) => series.map(({ value }) => value(window)))
}

/** The place of a chart's first series among all. */
export function firstSeriesOf(chart: Chart): number {
  const before = CHARTS.slice(0, CHARTS.indexOf(chart))
  return before.reduce((sum, { series }) => sum + series.length, 0)
}

function chart(id: string, title: string, unit: ChartUnit, needs: string, series: readonly Series[]): Chart {
  return { id, title, unit, needs, series }
}

function gauge(name: string): Series['value'] {
  return window => window.value(name)
}

function requestsWith(firstDigit: string): Series['value'] {
  return window => window.rate('stockroom_http_requests_total', ({ status = '' }) => status.startsWith(firstDigit))
}

function answersWith(wanted: (outcome: string) => boolean): Series['value'] {
  return window => window.rate('stockroom_model_answers_total', ({ outcome = '' }) => wanted(outcome))
}

function tokensOf(direction: string): Series['value'] {
  return window => window.rate('stockroom_model_tokens_total', labels => labels.direction === direction)
}

function statementsOf(pool: string): Series['value'] {
  return window => window.countRate('stockroom_postgres_statement_duration_seconds', labels => labels.pool === pool)
}

/** A chart of the times in a histogram. `least` is its first bound. */
function times(id: string, title: string, metric: string, least: number = SECONDS[0]): Chart {
  const quantile = (name: string, color: Color, share: number): Series => ({
    name,
    color,
    least,
    value: window => window.quantile(metric, share),
  })
  return chart(id, title, 'seconds', metric, [
    quantile('median', 'first', 0.5),
    quantile('95 %', 'second', 0.95),
    quantile('99 %', 'warning', 0.99),
  ])
}

function hitRate(window: Window): number | null {
  const hits = window.rate('stockroom_cache_hits_total') ?? 0
  const all = hits + (window.rate('stockroom_cache_misses_total') ?? 0)
  return all === 0 ? null : percent(hits / all)
}

function percent(fraction: number | null): number | null {
  return fraction === null ? null : fraction * 100
}
