import { BoundedServer } from './bounded-server.ts'
import { ClientStreams } from './client-streams.ts'
import { bind, OPERATOR_PORT_FLAG, reachableAddress } from './port.ts'
import { routeTable } from './request-target.ts'
import { type Observer, requestHandlers, type ServedApp } from './requests.ts'
import type { ServerSettings } from './settings.ts'
import { drain } from './stop.ts'
import { Streaming } from './streaming.ts'

/** Timeout of idle connections. */
const IDLE_SECONDS = 30

/** Limit on the event streams of one operator's address. */
const OPERATOR_STREAMS_MAX = 64

export interface ListenOptions extends ServerSettings {
  readonly app: ServedApp
  /** Whether other processes listen on the same port, with the same option (SO_REUSEPORT). */
  readonly sharesPort?: boolean
  /** Are told of every request. */
  readonly observers?: readonly Observer[]
}

export interface OperatorOptions {
  readonly app: ServedApp
  readonly host: string
  readonly port: number
  readonly allowedHosts: readonly string[]
}

export interface Listening extends AsyncDisposable {
  /** The server's URL for clients on this machine. */
  readonly address: string
  readonly port: number
  /** The load at this moment. */
  readonly figures: () => { readonly requestsInProgress: number; readonly streams: number }
  /** The bounds on its streamed responses. */
  readonly streaming: Streaming
}

/** Starts listening. Disposing drains: it refuses new connections and lets requests in progress finish within the grace. */
export function listen(options: ListenOptions): Listening {
  const {
    app,
    host,
    port,
    sharesPort = false,
    connectionsMax,
    streamsPerAddress,
    observers = [],
    ...settings
  } = options
  const paths = app.routes.map(({ path }) => path)
  const streams = new ClientStreams(streamsPerAddress)
  const streaming = new Streaming()
  const serving = {
    hostname: host,
    reusePort: sharesPort,
    idleTimeout: IDLE_SECONDS,
    // Handlers limit the bodies that they read, and answer 413. The runtime does not buffer unread bodies.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    ...routeTable(paths, requestHandlers(app, { ...settings, streams, streaming, observers })),
  }
  const server = new BoundedServer(at => bind({ ...serving, port: at }), port, connectionsMax)
  return {
    address: reachableAddress(host, server.port),
    port: server.port,
    figures: () => ({ requestsInProgress: server.pendingRequests, streams: streams.total }),
    streaming,
    [Symbol.asyncDispose]: () => drain(server),
  }
}

/** Listens for the few requests of operators. Disposing ends them at once. */
export function listenForOperators({ app, host, port, allowedHosts }: OperatorOptions): Listening {
  const streams = new ClientStreams(OPERATOR_STREAMS_MAX)
  const streaming = new Streaming()
  const settings = { trustedProxies: 0, rateLimit: null, allowedHosts, streams, streaming, observers: [] }
  const server = bind(
    {
      hostname: host,
      port,
      idleTimeout: IDLE_SECONDS,
      ...routeTable(
        app.routes.map(({ path }) => path),
        requestHandlers(app, settings),
      ),
    },
    OPERATOR_PORT_FLAG,
  )
  return {
    address: reachableAddress(host, server.port ?? port),
    port: server.port ?? port,
    figures: () => ({ requestsInProgress: server.pendingRequests, streams: streams.total }),
    streaming,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}
