import type { Server } from 'bun'
import type { Hono } from 'hono'
import type { Key } from '../access/key.ts'
import { type Awaitable, whenThere } from '../awaitable.ts'
import type { Allowance } from '../limits/rate.ts'
import type { Timeline } from '../tracing/timeline.ts'
import { readTraceContext, type TraceContext } from '../tracing/trace-context.ts'
import { type ClientAddress, clientAddressBehind } from './client-address.ts'
import { type CrossOrigin, isPreflight } from './cross-origin.ts'
import { errorResponse } from './errors.ts'
import { hostCheck } from './host.ts'
import { isHealthRoute, RateLimiter } from './rate-limit.ts'
import { type MatchedRoute, parsedPath, queryOf, type RoutedRequest, type SentTarget } from './request-target.ts'
import type { ServerSettings } from './settings.ts'
import type { Streaming } from './streaming.ts'

/** The request and its circumstances, for handlers. Apps get it as Hono's bindings. */
export interface RequestScope {
  /** The request as it was sent, also if it is a HEAD. */
  readonly request: Request
  readonly requestId: string
  /** The route whose handlers answer the request. */
  readonly matched: MatchedRoute
  /** Looked up on first use. Read it before the first `await`, while the client is still connected. */
  readonly clientAddress: string
  /** Whether the client sent HEAD. The handler sees a GET, and should skip work that only the body needs. */
  readonly isHead: boolean
  /** The bounds that the streamed responses to all clients share. */
  readonly streaming: Streaming
  /** The access key that the request was sent with; `null` if it has none that is valid, or none is needed. */
  readonly key: Key | null
  /** The trace of the request, for the services that we call; `null` if there is none. */
  readonly trace: TraceContext | null
  /** Lets the client's connection be idle for so long, or for longer if that was asked for before. */
  allowIdle(seconds: number): void
}

/** A server's routes. An app opens no port. */
export type App = Hono<{ Bindings: RequestScope }>

export type Fetch = (request: Request, scope: RequestScope) => Awaitable<Response>

/** A client's request id is used if it looks like this, because it goes into a header and the log. */
const SANE_REQUEST_ID = /^[A-Za-z0-9._:=+/@-]{1,128}$/

/** Handlers by route and then by method. */
export type DirectRoutes = Map<string, Readonly<Record<string, Fetch>>>

/** An app's routes, and how to log their paths. */
export interface ServedApp {
  readonly fetch: Fetch
  /** Requests for other paths get 404, even if `fetch` would answer them. */
  readonly routes: readonly { readonly path: string }[]
  /** Handlers to call instead of `fetch`, which takes twice the time of a small request. */
  readonly direct?: DirectRoutes
  /** Lets pages of other origins read the responses; by default, none may. */
  readonly crossOrigin?: CrossOrigin
  /** The `Cache-Control` of all responses of a route; by default, handlers set it. */
  readonly cacheControl?: (route: string) => string | null
  /** Looks for the access key of each request of a route, before anything else is done with it; `null` if none is needed. */
  readonly identify?: (route: string) => ((headers: Headers) => Awaitable<Key | null>) | null
  /** Removes secrets from a path before it is logged. By default, paths are logged unchanged. */
  readonly loggedPath?: (path: string) => string
}

export interface RequestSettings extends Pick<ServerSettings, 'trustedProxies' | 'rateLimit'> {
  readonly allowedHosts: readonly string[]
  readonly streaming: Streaming
  /** Are told of every request. */
  readonly observers: readonly Observer[]
}

/** A request and its response. */
export interface Exchange {
  readonly request: RoutedRequest
  readonly scope: RunningRequest
  readonly target: SentTarget
  readonly response: Response
  /** Until the response is there. A stream goes on after that. */
  readonly durationMs: number
}

/** Is told of every exchange. It must not throw. */
export interface Observer {
  /** Before anything else is done with the request. */
  readonly begin?: (scope: RunningRequest) => void
  readonly end: (exchange: Exchange) => void
}

/** Shared by all routes of a server. */
interface Shared extends Pick<RequestSettings, 'streaming' | 'observers'> {
  readonly app: ServedApp
  readonly addressOf: ClientAddress
  readonly checkHost: (sent: string | null) => void
  readonly rateLimiter: RateLimiter | null
}

/** A class, so that properties that no handler reads cost nothing. */
export class RunningRequest implements RequestScope {
  readonly request: Request
  readonly requestId: string
  readonly isHead: boolean
  readonly streaming: Streaming
  readonly matched: MatchedRoute
  key: Key | null = null
  /** By the system's clock; 0 if nobody wants to know. */
  arrivedAt = 0
  /** Measures where the time goes; `null` if nobody wants to know. */
  timeline: Timeline | null = null
  /** `null` if the request is not limited. */
  allowance: Allowance | null = null
  readonly #server: Server<undefined>
  readonly #addressOf: ClientAddress
  #idleSeconds = 0
  #trace: TraceContext | null | undefined
  #clientAddress: string | undefined

  constructor(request: Request, server: Server<undefined>, matched: MatchedRoute, { streaming, addressOf }: Shared) {
    const sentId = request.headers.get('X-Request-Id')
    this.requestId = sentId !== null && SANE_REQUEST_ID.test(sentId) ? sentId : crypto.randomUUID()
    this.#server = server
    this.matched = matched
    this.isHead = request.method === 'HEAD'
    this.request = request
    this.streaming = streaming
    this.#addressOf = addressOf
  }

  get clientAddress(): string {
    this.#clientAddress ??= this.#addressOf(this.request, this.#server)
    return this.#clientAddress
  }

  get trace(): TraceContext | null {
    if (this.#trace === undefined) this.#trace = this.timeline?.span?.context ?? readTraceContext(this.request.headers)
    return this.#trace
  }

  allowIdle(seconds: number): void {
    this.#idleSeconds = Math.max(this.#idleSeconds, seconds)
    this.#server.timeout(this.request, this.#idleSeconds)
  }
}

/** Makes handlers for the runtime's router that run the app, one for each route. */
export function requestHandlers(app: ServedApp, settings: RequestSettings) {
  const { trustedProxies, allowedHosts, rateLimit, streaming, observers } = settings
  const shared: Shared = {
    app,
    streaming,
    observers,
    addressOf: clientAddressBehind(trustedProxies),
    checkHost: hostCheck(allowedHosts),
    rateLimiter: rateLimit === null ? null : new RateLimiter(rateLimit),
  }
  return (target: SentTarget) => {
    const handler = new RouteHandler(target, shared)
    return (request: RoutedRequest, server: Server<undefined>) => handler.answer(request, server)
  }
}

/**
 * Answers the requests of one route: assigns the request id and sends it back, lets the app answer, turns errors into
 * responses, and tells the observers. A response that is ready at once is not awaited, which would cost a tenth of its time.
 */
class RouteHandler {
  readonly #target: SentTarget
  readonly #shared: Shared
  readonly #begins: readonly ((scope: RunningRequest) => void)[]
  readonly #ends: readonly ((exchange: Exchange) => void)[]
  readonly #keyOf: ((headers: Headers) => Awaitable<Key | null>) | null
  readonly #limiter: RateLimiter | null
  readonly #direct: Readonly<Record<string, Fetch>> | undefined
  readonly #cacheControl: string | null

  constructor(sent: SentTarget, shared: Shared) {
    const { app, observers, rateLimiter } = shared
    const { route } = sent
    const { loggedPath = path => path } = app
    this.#target = { ...sent, loggedPath: request => loggedPath(sent.loggedPath(request)) }
    this.#shared = shared
    this.#begins = observers.flatMap(({ begin }) => begin ?? [])
    this.#ends = observers.map(({ end }) => end)
    this.#keyOf = app.identify?.(route) ?? null
    this.#limiter = isHealthRoute(route) ? null : rateLimiter
    this.#direct = app.direct?.get(route)
    this.#cacheControl = app.cacheControl?.(route) ?? null
  }

  answer(request: RoutedRequest, server: Server<undefined>): Awaitable<Response> {
    const scope = new RunningRequest(request, server, this.#target.matched(request), this.#shared)
    if (this.#limiter !== null || this.#ends.length > 0) scope.arrivedAt = performance.now()
    for (const begin of this.#begins) begin(scope)
    return scope.timeline === null ? this.#run(request, scope) : scope.timeline.run(() => this.#run(request, scope))
  }

  #run(request: RoutedRequest, scope: RunningRequest): Awaitable<Response> {
    try {
      const response = this.#identify(request, scope)
      if (response instanceof Response) return this.#finish(request, scope, response)
      return response
        .then(later => this.#finish(request, scope, later))
        .catch(error => this.#fail(request, scope, error))
    } catch (error) {
      return this.#fail(request, scope, error)
    }
  }

  #identify(request: Request, scope: RunningRequest): Awaitable<Response> {
    const { app, checkHost } = this.#shared
    // Browsers send it by themselves and without a key, so it does not count.
    if (app.crossOrigin && isPreflight(request)) {
      checkHost(request.headers.get('Host'))
      return app.crossOrigin.preflight(request.headers)
    }
    if (this.#keyOf === null) return this.#limit(request, scope)
    return whenThere(this.#keyOf(request.headers), key => {
      scope.key = key
      return this.#limit(request, scope)
    })
  }

  #limit(request: Request, scope: RunningRequest): Awaitable<Response> {
    return this.#limiter?.take(scope) ?? this.#handle(request, scope)
  }

  #handle(request: Request, scope: RunningRequest): Awaitable<Response> {
    const { app, checkHost } = this.#shared
    checkHost(request.headers.get('Host'))
    const handler = scope.matched.route === this.#target.route ? this.#direct?.[request.method] : undefined
    if (handler) return handler(request, scope)
    // Handle HEAD as GET: the runtime drops the body and still sends its length (RFC 9110, 9.3.2).
    return app.fetch(scope.isHead ? asGet(request) : request, scope)
  }

  #finish(request: RoutedRequest, scope: RunningRequest, response: Response): Response {
    const { headers } = response
    headers.set('X-Request-Id', scope.requestId)
    // Keeps browsers from guessing another content type.
    headers.set('X-Content-Type-Options', 'nosniff')
    this.#shared.app.crossOrigin?.describe(headers, request.headers.get('Origin'))
    if (this.#cacheControl !== null) headers.set('Cache-Control', this.#cacheControl)
    if (scope.allowance !== null) this.#limiter?.describe(headers, scope.allowance)
    // Here and not after `#run`, because another promise would cost more than most observers.
    if (this.#ends.length > 0) this.#tell(request, scope, response)
    return response
  }

  #fail(request: RoutedRequest, scope: RunningRequest, error: unknown): Response {
    return this.#finish(request, scope, errorResponse(error, scope.requestId))
  }

  #tell(request: RoutedRequest, scope: RunningRequest, response: Response): void {
    const durationMs = performance.now() - scope.arrivedAt
    const exchange = { request, scope, target: this.#target, response, durationMs }
    for (const end of this.#ends) end(exchange)
  }
}

/** The same request as a GET. Its URL gets another host, because the client's may be missing, or one that no URL can have. */
function asGet({ url, headers }: Request): Request {
  return new Request(`http://localhost${parsedPath(url)}${queryOf(url)}`, { headers })
}
