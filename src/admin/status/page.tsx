/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import uplot from 'uplot/dist/uPlot.iife.min.js' with { type: 'text' }
import uplotStyles from 'uplot/dist/uPlot.min.css' with { type: 'text' }
import { Layout } from '../../pages/layout.tsx'
import { staticPath } from '../../pages/static.ts'
import { type Chart, type ChartUnit, chartsIn, firstSeriesOf } from './charts.ts'
import type { Point } from './history.ts'
import script from './status.client.js' with { type: 'text' }
import styles from './status.css' with { type: 'text' }
import { SCALES, shown, shownSpan } from './units.ts'
import type { Window } from './window.ts'

/** The page's own static files. */
export const FILES = { 'uplot.js': uplot, 'uplot.css': uplotStyles, 'status.js': script, 'status.css': styles }

/**
 * The events that the page listens for: fragments that replace elements, points for the charts, and the news that the server has
 * other charts than the page. A server that has just started does not know all of its charts.
 */
export const TOPIC = { figures: 'Figures', points: 'Points', otherCharts: 'OtherCharts' } as const

/** The page's contents at one moment. */
export interface Status {
  /** The machine and the port that clients use. */
  readonly place: string
  /** The reason why the server cannot answer requests; `null` if it can. */
  readonly trouble: string | null
  readonly window: Window
  readonly points: readonly Point[]
}

export function statusPage(status: Status): string {
  return `<!doctype html>${(
    <Layout
      title={`Status of ${status.place}`}
      styles={[staticPath('uplot.css', uplotStyles), staticPath('status.css', styles)]}
      scripts={[staticPath('status.js', script), staticPath('uplot.js', uplot)]}
    >
      <main hx-disable>
        <header>
          <h1>Stockroom on {status.place}</h1>
          <p id="connection" role="status">
            <noscript>Reload for newer figures; charts need JavaScript.</noscript>
          </p>
        </header>
        <Facts {...status} />
        <div class="charts">
          {chartsIn(status.window).map(chart => (
            <Card chart={chart} points={status.points} />
          ))}
        </div>
        <p class="more">
          Rates and times are those of the last five seconds; “most” is that of the last ten minutes. All figures, for
          Prometheus: <a href="/metrics">/metrics</a>
        </p>
      </main>
      <div
        id="listener"
        hx-ext="sse"
        sse-connect={`/status/events?charts=${idsOf(status.window)}`}
        sse-swap={TOPIC.figures}
        hx-swap="none"
      ></div>
    </Layout>
  )}`
}

/** Names the charts of a page. */
export function idsOf(window: Window): string {
  return chartsIn(window)
    .map(({ id }) => id)
    .join()
}

/** Everything that changes, as replacements of the page's elements. */
export function figures(status: Status): string {
  return `${(
    <>
      <Facts {...status} swap />
      {/* Without a table around them, the parser would drop the rows. */}
      <table>
        {chartsIn(status.window).map(chart => (
          <Rows chart={chart} points={status.points} swap />
        ))}
      </table>
    </>
  )}`
}

interface Swap {
  /** For an event: replaces the page's element with the same id. */
  readonly swap?: boolean
}

function Facts({ trouble, window, swap }: Status & Swap) {
  const started = window.value('process_start_time_seconds') ?? 0
  const workers = window.value('stockroom_workers')
  const restarts = window.value('stockroom_worker_restarts_total') ?? 0
  return (
    <dl id="facts" {...(swap && { 'hx-swap-oob': 'true' })}>
      <Fact name="State">
        <span class={trouble === null ? 'ready' : 'not-ready'}>{trouble === null ? 'ready' : 'not ready'}</span>
        {trouble !== null && <span class="trouble">{trouble}</span>}
      </Fact>
      <Fact name="Running for">{shownSpan(Date.now() / 1_000 - started)}</Fact>
      {workers !== null && (
        <Fact name="Workers">
          {workers}
          {restarts > 0 && `, ${restarts} restarted`}
        </Fact>
      )}
      <Fact name="Requests so far">{shown(window.value('stockroom_http_requests_total'), 'count')}</Fact>
      <Fact name="Open files">
        {shown(window.value('process_open_fds'), 'count')}
        {window.has('process_max_fds') && ` of ${shown(window.value('process_max_fds'), 'count')}`}
      </Fact>
    </dl>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children?: Child }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

interface ChartProperties {
  readonly chart: Chart
  readonly points: readonly Point[]
}

function Card({ chart, points }: ChartProperties) {
  const data = {
    'data-unit': chart.unit,
    'data-scales': JSON.stringify(SCALES[chart.unit]),
    'data-first': firstSeriesOf(chart),
  }
  return (
    <section aria-labelledby={`${chart.id}-title`}>
      <h2 id={`${chart.id}-title`}>{chart.title}</h2>
      <p class="readout" aria-hidden="true"></p>
      <div class="plot" aria-hidden="true" {...data}></div>
      <table>
        <thead>
          <tr>
            <th scope="col">
              <span class="visually-hidden">Line</span>
            </th>
            <th scope="col">Now</th>
            <th scope="col">Most</th>
          </tr>
        </thead>
        <Rows chart={chart} points={points} />
      </table>
    </section>
  )
}

function Rows({ chart, points, swap }: ChartProperties & Swap) {
  const first = firstSeriesOf(chart)
  return (
    <tbody id={`${chart.id}-figures`} {...(swap && { 'hx-swap-oob': 'true' })}>
      {chart.series.map(({ name, color, least }, place) => (
        <tr>
          <th scope="row">
            <span class={`line ${color}`}></span>
            {name}
          </th>
          <td>{figure(points.at(-1)?.values[first + place] ?? null, chart.unit, least)}</td>
          <td>{figure(mostOf(points, first + place), chart.unit, least)}</td>
        </tr>
      ))}
    </tbody>
  )
}

function figure(value: number | null, unit: ChartUnit, least = 0): string {
  return value !== null && value <= least && least > 0 ? `≤ ${shown(least, unit)}` : shown(value, unit)
}

function mostOf(points: readonly Point[], place: number): number | null {
  const known = points.flatMap(({ values }) => values[place] ?? [])
  return known.length === 0 ? null : Math.max(...known)
}
