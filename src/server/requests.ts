import { getLogger } from '@logtape/logtape'
import type { Server } from 'bun'
import type { Hono } from 'hono'
import { clientAddress } from './client-address.ts'
import { ClientStreams } from './client-streams.ts'
import { errorResponse } from './errors.ts'
import { hostCheck } from './host.ts'
import type { RoutedRequest, SentPath } from './request-target.ts'

const log = getLogger(['stockroom', 'request'])

/** What a handler knows of its request beside the request itself: Hono's bindings. */
export interface RequestScope {
  readonly requestId: string
  readonly server: Server<undefined>
  /** The path to route by, as it was sent. */
  readonly path: string
  /** The client's address, looked up when it is first asked for: ask before the first `await`, while the client is there. */
  readonly clientAddress: string
  /** Whether the headers alone are wanted. The handler sees a GET, and should do no work that only a body is worth. */
  readonly isHead: boolean
  /** The open event streams of all clients. */
  readonly streams: ClientStreams
}

/** A server's routes: an app that listens nowhere. */
export type App = Hono<{ Bindings: RequestScope }>

/** How Hono is to find the path of a request. By itself it would take it from `request.url`, which is not what was sent. */
export const ROUTING = {
  getPath: (_: Request, { env }: { env?: object } = {}) => (env instanceof Scope ? env.path : ''),
}

export type Fetch = (request: Request, scope: RequestScope) => Response | Promise<Response>

/** A request id is taken over from the client when it looks like one; it goes into a header and a log line. */
const SANE_REQUEST_ID = /^[A-Za-z0-9._:=+/@-]{1,128}$/

/** What is served: an app's routes, and how the log writes their paths. */
export interface Served {
  readonly fetch: Fetch
  /** Requests for other paths are not found, whatever `fetch` would answer. */
  readonly routes: readonly { readonly path: string }[]
  /** Takes out of a path what only its owner should know; without it, the log has paths as they are. */
  readonly loggedPath?: (path: string) => string
}

interface ObservedOptions {
  readonly accessLog: boolean
  /** How many entries of `X-Forwarded-For` are to be believed. */
  readonly trustedProxies: number
  readonly allowedHosts: readonly string[]
  readonly streamsPerAddress: number
}

/** What all requests of a server have in common. */
interface Shared {
  readonly streams: ClientStreams
  readonly trustedProxies: number
}

/** A class, so that what is not asked for costs nothing. */
class Scope implements RequestScope {
  readonly requestId: string
  readonly server: Server<undefined>
  readonly path: string
  readonly isHead: boolean
  readonly streams: ClientStreams
  readonly #request: Request
  readonly #trustedProxies: number
  #clientAddress: string | undefined

  constructor(
    request: RoutedRequest,
    server: Server<undefined>,
    { routed }: SentPath,
    { streams, trustedProxies }: Shared,
  ) {
    const sentId = request.headers.get('X-Request-Id')
    this.requestId = sentId !== null && SANE_REQUEST_ID.test(sentId) ? sentId : crypto.randomUUID()
    this.server = server
    this.path = routed(request)
    this.isHead = request.method === 'HEAD'
    this.#request = request
    this.streams = streams
    this.#trustedProxies = trustedProxies
  }

  get clientAddress(): string {
    this.#clientAddress ??= clientAddress(this.#request, this.server, this.#trustedProxies)
    return this.#clientAddress
  }
}

/**
 * Makes handlers for the runtime's router. They give each request its id, send the id back, log the request, and answer what
 * `fetch` throws.
 */
export function observed({ fetch, loggedPath = path => path }: Served, settings: ObservedOptions) {
  const { accessLog, trustedProxies, allowedHosts, streamsPerAddress } = settings
  const shared = { trustedProxies, streams: new ClientStreams(streamsPerAddress) }
  const checkHost = hostCheck(allowedHosts)
  return (sentPath: SentPath) =>
    async (request: RoutedRequest, server: Server<undefined>): Promise<Response> => {
      const started = performance.now()
      const scope = new Scope(request, server, sentPath, shared)
      // Now, as nobody knows it when the client has left.
      const client = accessLog ? scope.clientAddress : undefined
      let response: Response
      try {
        checkHost(request.headers.get('Host'))
        // HEAD is asked as GET: the runtime leaves the body out and still tells its length (RFC 9110, 9.3.2).
        const asked = scope.isHead ? new Request(request, { method: 'GET' }) : request
        response = await fetch(asked, scope)
      } catch (error) {
        response = errorResponse(error, scope.requestId)
      }
      response.headers.set('X-Request-Id', scope.requestId)
      // Nothing here is to be taken for a script or a page that it does not say it is.
      response.headers.set('X-Content-Type-Options', 'nosniff')
      if (accessLog) {
        log.info('{method} {path} {status}', {
          request_id: scope.requestId,
          client,
          method: request.method,
          path: loggedPath(sentPath.logged(request)),
          status: response.status,
          duration_ms: Math.round((performance.now() - started) * 1000) / 1000,
        })
      }
      return response
    }
}
