import type { Server } from 'bun'
import type { Hono } from 'hono'
import { clientAddress } from './client-address.ts'
import { errorResponse } from './errors.ts'
import { hostCheck } from './host.ts'
import { log } from './log.ts'
import type { RoutedRequest, SentPath } from './request-target.ts'

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

interface ObservedOptions {
  readonly accessLog: boolean
  /** How many entries of `X-Forwarded-For` are to be believed. */
  readonly trustedProxies: number
  readonly allowedHosts: readonly string[]
}

/** A class, so that what is not asked for costs nothing. */
class Scope implements RequestScope {
  readonly requestId: string
  readonly server: Server<undefined>
  readonly isHead: boolean
  readonly path: string
  readonly #request: Request
  readonly #trustedProxies: number
  #clientAddress: string | undefined

  constructor(request: Request, server: Server<undefined>, requestId: string, path: string, trustedProxies: number) {
    this.#request = request
    this.#trustedProxies = trustedProxies
    this.server = server
    this.requestId = requestId
    this.isHead = request.method === 'HEAD'
    this.path = path
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
export function observed(fetch: Fetch, { accessLog, trustedProxies, allowedHosts }: ObservedOptions) {
  const checkHost = hostCheck(allowedHosts)
  return ({ routed, logged }: SentPath) =>
    async (request: RoutedRequest, server: Server<undefined>): Promise<Response> => {
      const started = performance.now()
      const sent = request.headers.get('X-Request-Id')
      const requestId = sent !== null && SANE_REQUEST_ID.test(sent) ? sent : crypto.randomUUID()
      let response: Response
      try {
        checkHost(request.headers.get('Host'))
        const scope = new Scope(request, server, requestId, routed(request), trustedProxies)
        // HEAD is asked as GET: the runtime leaves the body out and still tells its length (RFC 9110, 9.3.2).
        const asked = request.method === 'HEAD' ? new Request(request, { method: 'GET' }) : request
        response = await fetch(asked, scope)
      } catch (error) {
        response = errorResponse(error, requestId)
      }
      response.headers.set('X-Request-Id', requestId)
      // Nothing here is to be taken for a script or a page that it does not say it is.
      response.headers.set('X-Content-Type-Options', 'nosniff')
      if (accessLog) {
        log.request.info('{method} {path} {status}', {
          request_id: requestId,
          method: request.method,
          path: logged(request),
          status: response.status,
          duration_ms: Math.round((performance.now() - started) * 1000) / 1000,
        })
      }
      return response
    }
}
