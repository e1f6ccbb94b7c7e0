import { EventLoopLag } from '../metrics/event-loop.ts'
import { gauge } from '../metrics/family.ts'
import { processFamilies } from '../metrics/process.ts'
import type { MetricsSource, ShownMetrics } from '../metrics/source.ts'
import { listenForOperators } from '../server/listen.ts'
import { RequestMetrics, serverFamilies } from '../server/metrics.ts'
import { OPERATOR_PORT_FLAG, requireFreePort } from '../server/port.ts'
import { printLine, type ServingProcess } from '../server/worker.ts'
import { createAdmin } from './app.ts'
import { connectionsTo, recentConnections } from './connections.ts'
import type { Admin } from './observed.ts'
import type { AdminSettings } from './settings.ts'
import { History } from './status/history.ts'

export function countingAdmin(settings: AdminSettings, serving: ServingProcess): Admin {
  const { host, port } = settings
  // Before anything listens.
  if (!serving.showMetrics && port !== 0) requireFreePort(host, port, OPERATOR_PORT_FLAG)
  const requests = new RequestMetrics()
  const lag = new EventLoopLag()
  return {
    observers: [requests],
    show: ({ server, probe, families: ofPart = () => [] }) => {
      const families = () => [
        ...requests.families(),
        ...serverFamilies(server),
        ...ofPart(),
        lag.family(),
        ...processFamilies(),
      ]
      if (serving.showMetrics) {
        using answering = new DisposableStack()
        answering.use(serving.showMetrics(families))
        const answers = answering.move()
        return { announce: () => {}, [Symbol.asyncDispose]: async () => answers.dispose() }
      }
      return showMetrics(settings, { families, port: server.port, probe })
    },
    [Symbol.dispose]: () => lag[Symbol.dispose](),
  }
}

/** Listens on the port for operators. */
export function showMetrics(settings: AdminSettings, source: MetricsSource): ShownMetrics {
  const read = async (connections: () => Promise<number | null>) => {
    const [known, count] = await Promise.all([source.families(), connections()])
    if (count === null) return known
    return [...known, gauge('stockroom_http_connections', 'Connections of clients that are open.', count)]
  }
  const recent = recentConnections(() => source.port)
  using starting = new DisposableStack()
  const history = starting.use(new History(() => read(recent)))
  const app = createAdmin({
    families: () => read(() => connectionsTo(source.port)),
    history,
    probe: source.probe ?? isReady,
    port: () => source.port,
  })
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

/** For servers that depend on no database. */
async function isReady(): Promise<void> {}
