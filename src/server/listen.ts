import { getLogger } from '@logtape/logtape'
import { errorMessage } from '../error-message.ts'
import { OperatorError } from '../operator-error.ts'
import { BoundedServer } from './bounded-server.ts'
import { routeTable } from './request-target.ts'
import { observed, type Served } from './requests.ts'
import type { ServerSettings } from './settings.ts'

const log = getLogger(['stockroom', 'server'])

/** How long requests that run may take to end after a signal; what is left is cut. The whole stop stays under 5 s. */
const DRAIN_GRACE_MS = 3_500

/** The last resort, should something keep the process alive after all is closed. */
const STOP_MAX_MS = 4_800

/** A connection on which nothing happens is closed after this. */
const IDLE_SECONDS = 30

export interface ListenOptions extends ServerSettings {
  readonly app: Served
}

export interface Listening extends AsyncDisposable {
  /** Where a client on this machine reaches the server. */
  readonly address: string
}

/** Listens; disposing drains: no new connections, what runs is finished within the grace. */
export function listen({ app, host, port, connectionsMax, ...settings }: ListenOptions): Listening {
  const paths = app.routes.map(({ path }) => path)
  const options = {
    hostname: host,
    idleTimeout: IDLE_SECONDS,
    // Bodies are bounded where they are read, with an answer that says so; the runtime keeps nothing that is not read.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    ...routeTable(paths, observed(app, settings)),
  }
  const server = new BoundedServer(at => bind({ ...options, port: at }), port, connectionsMax)
  return {
    address: `http://${reachable(host)}:${server.port}`,
    [Symbol.asyncDispose]: () => drain(server),
  }
}

/** Resolves on the first SIGTERM or SIGINT. Later ones change nothing, as a terminal and npm may both send one. */
export function stopSignal(): Promise<void> {
  return new Promise(resolve => {
    const stop = () => {
      setTimeout(() => process.exit(0), STOP_MAX_MS).unref()
      resolve()
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}

function bind(options: Parameters<typeof Bun.serve<undefined>>[0] & { hostname: string; port: number }) {
  try {
    return Bun.serve<undefined>(options)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    const place = `${options.hostname}:${options.port}`
    if (code === 'EADDRINUSE') {
      throw new OperatorError(`${place} is in use; stop what listens there or choose another with --port`)
    }
    throw new OperatorError(`cannot listen on ${place}: ${errorMessage(error)}`)
  }
}

async function drain(server: BoundedServer): Promise<void> {
  log.info('stopping: {pending} requests are running', { pending: server.pendingRequests })
  const grace = Promise.withResolvers<void>()
  const timer = setTimeout(grace.resolve, DRAIN_GRACE_MS)
  await Promise.race([server.stop(), grace.promise])
  clearTimeout(timer)
  await server.cut()
}

function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
