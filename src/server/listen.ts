import { BoundedServer } from './bounded-server.ts'
import { bind, OPERATOR_PORT_FLAG, reachableAddress } from './port.ts'
import { routeTable } from './request-target.ts'
import { type Observer, requestHandlers, type ServedApp } from './requests.ts'
import type { ServerSettings } from './settings.ts'
import { Streaming } from './streaming.ts'

/** Timeout of idle connections. */
const IDLE_SECONDS = 30

/** Limit on the event streams of one operator's address. */
const OPERATOR_STREAMS_MAX = 64

interface OperatorOptions {
  readonly app: ServedApp
  readonly host: string
  readonly port: number
  readonly allowedHosts: readonly string[]
}

interface ListenOptions extends ServerSettings {
  readonly app: ServedApp
  /** Whether other processes listen on the same port, with the same option (SO_REUSEPORT). */
  readonly sharesPort?: boolean
  /** Are told of every request. */
  readonly observers?: readonly Observer[]
}

export interface Listening extends AsyncDisposable {
  /** The server's URL for clients on this machine. */
  readonly address: string
  readonly port: number
  /** The requests that are being answered at this moment. */
  readonly requestsInProgress: () => number
  /** The bounds on its streamed responses. */
  readonly streaming: Streaming
}

/** Starts listening. Disposing drains: it refuses new connections and lets requests in progress finish within the grace. */
export function listen(options: ListenOptions): Listening {
  const { serving, listening } = served(options)
  const bounded = {
    ...serving,
    reusePort: options.sharesPort ?? false,
    // Handlers limit the bodies that they read, and answer 413. The runtime does not buffer unread bodies.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  }
  const server = new BoundedServer(port => bind({ ...bounded, port }), options.port, options.connectionsMax)
  return listening(server, () => server[Symbol.asyncDispose]())
}

/** Listens for the few requests of operators. Disposing ends them at once. */
export function listenForOperators(options: OperatorOptions): Listening {
  const bounds = { trustedProxies: 0, rateLimit: null, streamsPerAddress: OPERATOR_STREAMS_MAX }
  const { serving, listening } = served({ ...options, ...bounds })
  const server = bind({ ...serving, port: options.port }, OPERATOR_PORT_FLAG)
  return listening(server, () => server.stop(true))
}

/** The options for the runtime's server, and the description of the server that it starts. */
function served({
  app,
  host,
  streamsPerAddress,
  observers = [],
  ...settings
}: OperatorOptions & Omit<ListenOptions, 'allowedHosts' | 'connectionsMax' | 'sharesPort'>) {
  const streaming = new Streaming(streamsPerAddress)
  const handlers = requestHandlers(app, { ...settings, streaming, observers })
  const paths = app.routes.map(({ path }) => path)
  return {
    serving: { hostname: host, idleTimeout: IDLE_SECONDS, ...routeTable(paths, handlers) },
    listening: (
      server: { readonly port?: number | undefined; readonly pendingRequests: number },
      stop: () => Promise<void>,
    ): Listening => {
      const port = server.port ?? settings.port
      return {
        address: reachableAddress(host, port),
        port,
        requestsInProgress: () => server.pendingRequests,
        streaming,
        [Symbol.asyncDispose]: stop,
      }
    },
  }
}
