import { hostname } from 'node:os'
import { pause, systemClock } from '../../clock.ts'
import { UNCACHED_PAGE_HEADERS } from '../../pages/layout.tsx'
import { addStaticFiles } from '../../pages/static.ts'
import { errorMessage } from '../../program/error-message.ts'
import type { Probe } from '../../server/app.ts'
import { eventStream, type ServerSentEvent } from '../../server/event-stream.ts'
import { refuseOtherOrigins } from '../../server/own-pages.ts'
import type { App } from '../../server/requests.ts'
import { type History, INTERVAL_MS, type Point } from './history.ts'
import { FILES, figures, idsOf, type Status, statusPage, TOPIC } from './page.tsx'

/** While somebody watches, readiness is checked this often. */
const PROBE_INTERVAL_MS = 10_000

interface StatusOptions {
  readonly history: History
  readonly probe: Probe
  /** The port that clients use. */
  readonly port: () => number
}

/** Adds the status page and its stream. */
export function addStatus(app: App, { history, probe, port }: StatusOptions): void {
  const troubleOf = () => probe().then(() => null, errorMessage)
  const status = (trouble: string | null): Status => ({
    place: `${hostname()}:${port()}`,
    trouble,
    window: history.window,
    points: history.since(0),
  })
  app.get('/', context => context.redirect('/status', 307))
  app.get('/status', async context => context.html(statusPage(status(await troubleOf())), 200, UNCACHED_PAGE_HEADERS))
  app.get('/status/events', context => {
    refuseOtherOrigins(context.req.raw.headers)
    const shown = context.req.query('charts') ?? null
    return eventStream(context.env, signal => events(signal, shown))
  })
  addStaticFiles(app, FILES)

  /** `shown` names the charts of the page, if a page listens. */
  async function* events(signal: AbortSignal, shown: string | null): AsyncGenerator<ServerSentEvent> {
    let trouble = await troubleOf()
    let probedAt = performance.now()
    let sent = 0
    while (!signal.aborted) {
      const points = history.since(sent)
      // Of this moment: while the points are being sent, the server may get to know of more charts.
      const now = status(trouble)
      const charts = idsOf(now.window)
      if (points.length > 0 && shown !== null && shown !== charts) yield { name: TOPIC.otherCharts, chunk: charts }
      else if (points.length > 0) {
        yield { name: TOPIC.points, chunk: columnsOf(points, sent === 0) }
        yield { name: TOPIC.figures, chunk: figures(now) }
        sent = points.at(-1)?.number ?? sent
      }
      await pause(systemClock, INTERVAL_MS, signal)
      if (performance.now() - probedAt < PROBE_INTERVAL_MS) continue
      trouble = await troubleOf()
      probedAt = performance.now()
    }
  }
}

/** Points as the charts take them: a list of times, and one of values for each series. */
function columnsOf(points: readonly Point[], isFirst: boolean): string {
  const series = points[0]?.values.map((_, place) => points.map(({ values }) => rounded(values[place] ?? null))) ?? []
  return JSON.stringify({ isFirst, times: points.map(({ at }) => rounded(at)), series })
}

/** Fewer digits, which a chart cannot show. */
function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value * 1e6) / 1e6
}
