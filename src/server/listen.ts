import type { Log } from '../program/log.ts'
import type { Tracing } from '../tracing/open.ts'
import { BoundedServer } from './bounded-server.ts'
import { loggedRequests } from './logged-requests.ts'
import { bind, OPERATOR_PORT_FLAG, reachableAddress } from './port.ts'
import { routeTable } from './request-target.ts'
import { type Observer, type RequestSettings, requestHandlers, type ServedApp } from './requests.ts'
import type { ServerSettings } from './settings.ts'
import { Streaming } from './streaming.ts'
import { tracedRequests } from './traced-requests.ts'

/** Timeout of idle connections. */
const IDLE_SECONDS = 30

/** Limit on the event streams of one operator's address. */
const OPERATOR_STREAMS_MAX = 64

export interface OperatorOptions {
  readonly app: ServedApp
  readonly host: string
  readonly port: number
  readonly allowedHosts: readonly string[]
}

interface ListenOptions extends ServerSettings {
  readonly app: ServedApp
  /** Gets a line for each request, unless `accessLog` is off. */
  readonly log?: Log
  readonly tracing?: Tracing
  /** Are told of every request, too. */
  readonly observers?: readonly Observer[]
  /** Whether other processes listen on the same port, with the same option (SO_REUSEPORT). */
  readonly sharesPort?: boolean
}

export interface Listening extends BoundedServer {
  /** The server's URL for clients on this machine. */
  readonly address: string
  /** The bounds on its streamed responses. */
  readonly streaming: Streaming
}

/** Starts listening. Disposing drains: it refuses new connections and lets requests in progress finish within the grace. */
export function listen(options: ListenOptions): Listening {
  const { log, tracing, sharesPort = false, connectionsMax } = options
  const observers = [
    ...(log && options.accessLog ? loggedRequests(log) : []),
    ...(options.observers ?? []),
    ...(tracing ? tracedRequests(tracing) : []),
  ]
  const streaming = new Streaming(options.streamsPerAddress)
  const bounded = {
    ...serving({ ...options, observers }, streaming),
    reusePort: sharesPort,
    // Handlers limit the bodies that they read, and answer 413. The runtime does not buffer unread bodies.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  }
  const server = new BoundedServer(port => bind({ ...bounded, port }), options.port, connectionsMax)
  return Object.assign(server, { address: reachableAddress(options.host, server.port), streaming })
}

/** Listens for the few requests of operators. Disposing ends them at once. */
export function listenForOperators(options: OperatorOptions): AsyncDisposable & Pick<Listening, 'address'> {
  const unlimited = { ...options, trustedProxies: 0, rateLimit: null, observers: [] }
  const server = bind(serving(unlimited, new Streaming(OPERATOR_STREAMS_MAX)), OPERATOR_PORT_FLAG)
  return {
    address: reachableAddress(options.host, server.port ?? options.port),
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

/** The options for the runtime's server. */
function serving(
  { app, host, port, ...settings }: OperatorOptions & Omit<RequestSettings, 'streaming'>,
  streaming: Streaming,
) {
  const handlers = requestHandlers(app, { ...settings, streaming })
  const paths = app.routes.map(({ path }) => path)
  return { hostname: host, port, idleTimeout: IDLE_SECONDS, ...routeTable(paths, handlers) }
}
