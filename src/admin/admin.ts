import { Hono } from 'hono'
import { systemClock, within } from '../clock.ts'
import { measureEventLoop } from '../metrics/event-loop.ts'
import { EXPOSITION_TYPE, exposition } from '../metrics/exposition.ts'
import { type Family, gauge } from '../metrics/family.ts'
import { processFamilies } from '../metrics/process.ts'
import type { MetricsSource, ShownMetrics } from '../metrics/source.ts'
import { finishApp, type Probe } from '../server/app.ts'
import { type Listening, listenForOperators } from '../server/listen.ts'
import { RequestMetrics, serverFamilies } from '../server/metrics.ts'
import { OPERATOR_PORT_FLAG, requireFreePort } from '../server/port.ts'
import type { App, Observer } from '../server/requests.ts'
import { routing } from '../server/routing.ts'
import { printLine, type ServingProcess } from '../server/worker.ts'
import { shared } from '../shared.ts'
import { type Connections, connectionsTo, recentConnections } from './connections.ts'
import type { AdminSettings } from './settings.ts'
import { History } from './status/history.ts'
import { addStatus } from './status/routes.ts'

/** /metrics waits this long for the probe. A hung database may take longer, and Prometheus gives up after 10 s. */
const PROBE_MAX_MS = 1_000

/** Counts what a process does, and shows it to operators. */
export interface Admin {
  /** Called for every request. */
  readonly observers: readonly Observer[]
  /** Listens on the port for operators. A worker leaves that to its supervisor, and answers its questions. */
  readonly show: (observed: Observed) => ShownMetrics
}

/** A process that serves, with the probe and the metrics of its part. */
interface Observed {
  readonly server: Listening
  readonly probe?: Probe
  readonly families?: () => readonly Family[]
}

export function countingAdmin(settings: AdminSettings, serving: ServingProcess): Admin {
  const { host, port } = settings
  // Before anything listens.
  if (!serving.showMetrics && port !== 0) requireFreePort(host, port, OPERATOR_PORT_FLAG)
  const requests = new RequestMetrics()
  const lag = measureEventLoop()
  return {
    observers: [requests],
    show: ({ server, probe, families: ofPart = () => [] }) => {
      const families = () => [
        ...requests.families(),
        ...serverFamilies(server),
        ...ofPart(),
        lag(),
        ...processFamilies(),
      ]
      if (!serving.showMetrics) return showMetrics(settings, { families, port: server.port, probe })
      const answering = serving.showMetrics(families)
      return { announce: () => {}, [Symbol.asyncDispose]: async () => answering[Symbol.dispose]() }
    },
  }
}

/** Listens on the port for operators. */
export function showMetrics(settings: AdminSettings, source: MetricsSource): ShownMetrics {
  // A server that depends on no database has no probe.
  const { probe = async () => {} } = source
  const port = () => source.port
  const read = async (connections: Promise<Connections>) => {
    const [known, { open }] = await Promise.all([source.families(), connections])
    if (open === null) return known
    return [...known, gauge('stockroom_http_connections', 'Connections of clients that are open.', open)]
  }
  const isReady = lastKnown(probe)
  // Once for all requests of a moment: a write may wait for the disk behind these reads of files.
  const connections = shared(() => connectionsTo(port()))
  const recent = recentConnections(port)
  using starting = new DisposableStack()
  const history = starting.use(new History(() => read(recent())))
  const app: App = new Hono(routing())
  app.get('/metrics', async context => {
    const [known, ready] = await Promise.all([read(connections()), isReady()])
    const families = [
      ...known,
      gauge('stockroom_ready', 'Whether requests can be answered, as /readyz says: 1 or 0.', ready ? 1 : 0),
    ]
    return context.body(exposition(families), 200, { 'Content-Type': EXPOSITION_TYPE, 'Cache-Control': 'no-store' })
  })
  addStatus(app, { history, probe, port })
  finishApp(app, probe)
  const listening = listenForOperators({ app, ...settings })
  const opened = starting.move()
  return {
    announce: () =>
      printLine(`stockroom shows operators its status at ${listening.address}/status, and metrics at /metrics`),
    [Symbol.asyncDispose]: () => {
      opened.dispose()
      return listening[Symbol.asyncDispose]()
    },
  }
}

/** Probes, and tells whether the last probe that has ended succeeded. If a probe takes too long, the next call tells its result. */
function lastKnown(probe: Probe): () => Promise<boolean> {
  let isReady = false
  const probing = shared(async () => {
    isReady = await probe().then(
      () => true,
      () => false,
    )
  })
  return async () => {
    await within(systemClock, PROBE_MAX_MS, probing())
    return isReady
  }
}
