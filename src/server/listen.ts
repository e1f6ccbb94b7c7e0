import { getLogger } from '@logtape/logtape'
import type { Server } from 'bun'
import { errorMessage } from '../program/error-message.ts'
import { OperatorError } from '../program/operator-error.ts'
import { stopSignals, WORKER_STOP_SIGNALS } from '../program/stop-signals.ts'
import { BoundedServer } from './bounded-server.ts'
import { ClientStreams } from './client-streams.ts'
import { routeTable } from './request-target.ts'
import { type Observer, requestHandlers, type ServedApp } from './requests.ts'
import type { ServerSettings } from './settings.ts'

const log = getLogger(['stockroom', 'server'])

/** Time for requests in progress to finish after a stop signal; then they are cut. The whole stop takes less than 5 s. */
const DRAIN_GRACE_MS = 3_500

/** Last resort: exit even if something keeps the process alive. */
const STOP_MAX_MS = 4_800

/** Timeout of idle connections. */
const IDLE_SECONDS = 30

/** The flag of their port, for the error if it is in use. */
export const OPERATOR_PORT_FLAG = 'admin-port'

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
  const serving = {
    hostname: host,
    reusePort: sharesPort,
    idleTimeout: IDLE_SECONDS,
    // Handlers limit the bodies that they read, and answer 413. The runtime does not buffer unread bodies.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    ...routeTable(paths, requestHandlers(app, { ...settings, streams, observers })),
  }
  const server = new BoundedServer(at => bind({ ...serving, port: at }), port, connectionsMax)
  return {
    address: reachableAddress(host, server.port),
    port: server.port,
    figures: () => ({ requestsInProgress: server.pendingRequests, streams: streams.total }),
    [Symbol.asyncDispose]: () => drain(server),
  }
}

/** Listens for the few requests of operators. Disposing ends them at once. */
export function listenForOperators({ app, host, port, allowedHosts }: OperatorOptions): Listening {
  const streams = new ClientStreams(OPERATOR_STREAMS_MAX)
  const settings = { accessLog: false, trustedProxies: 0, rateLimit: null, allowedHosts, streams, observers: [] }
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
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

/** Throws an `OperatorError` if a program listens on the port. */
export function requireFreePort(host: string, port: number, portFlag?: string): void {
  bind({ hostname: host, port, fetch: () => new Response() }, portFlag).stop(true)
}

/**
 * Keeps other supervisors from starting on the port until it is disposed of. Two that start at the same moment would both find
 * the port free, and then their workers would share it, each with its own database. Throws an `OperatorError` if another one has
 * claimed it. The claim is an abstract socket: Linux removes it with its process, and it belongs to the same network as the port.
 */
export function claimPort(host: string, port: number): Disposable {
  const place = `${host}:${port}`
  try {
    const claim = Bun.listen({ unix: `\0stockroom starts on ${place}`, socket: { data: () => {} } })
    claim.unref()
    return { [Symbol.dispose]: () => claim.stop(true) }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') throw portInUse(place, 'port')
    // Without such sockets, only services that start at different times are told apart.
    return { [Symbol.dispose]: () => {} }
  }
}

/** The URL for clients on this machine. */
function reachableAddress(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/**
 * Resolves on the first signal to stop. Later ones are ignored, because a terminal and npm may both send one. SIGHUP never kills
 * a worker: its supervisor stops it, or goes on under `nohup`.
 */
export function stopSignal({ maxMs = STOP_MAX_MS, isWorker = false } = {}): Promise<void> {
  return new Promise(resolve => {
    const stop = () => {
      setTimeout(() => process.exit(0), maxMs).unref()
      resolve()
    }
    for (const signal of isWorker ? WORKER_STOP_SIGNALS : stopSignals()) process.on(signal, stop)
    if (isWorker) process.on('SIGHUP', () => {})
  })
}

function bind(
  options: Parameters<typeof Bun.serve<undefined>>[0] & { hostname: string; port: number },
  portFlag = 'port',
): Server<undefined> {
  try {
    return Bun.serve<undefined>(options)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    const place = `${options.hostname}:${options.port}`
    if (code === 'EADDRINUSE') throw portInUse(place, portFlag)
    throw new OperatorError(`cannot listen on ${place}: ${errorMessage(error)}`)
  }
}

function portInUse(place: string, portFlag: string): OperatorError {
  return new OperatorError(
    `${place} is in use; stop the program that listens there, or choose another port with --${portFlag}`,
  )
}

async function drain(server: BoundedServer): Promise<void> {
  log.info('stopping: {pending} requests in progress', { pending: server.pendingRequests })
  const grace = Promise.withResolvers<void>()
  const timer = setTimeout(grace.resolve, DRAIN_GRACE_MS)
  await Promise.race([server.stop(), grace.promise])
  clearTimeout(timer)
  await server.closeConnections()
}
