/** The log shows targets without a route as they were sent if they have at most this many segments. */
const LOGGED_SEGMENTS_MAX = 12

/** A path parameter that needs no percent-encoding and that URL parsing does not change. */
const PLAIN = /^[\w~-]+$/

type PathParameters = Readonly<Record<string, string>>

/** A request from the runtime's router, with its path parameters as they were sent, percent-decoded. */
export interface RoutedRequest extends Request {
  readonly params?: PathParameters
}

/** A route as it was added to the app. */
export interface MatchedRoute {
  readonly route: string
  /** Percent-encoded. */
  readonly parameters: PathParameters
}

/** For requests that must not reach any handler: no app has this route. */
export const NO_ROUTE: MatchedRoute = { route: '//', parameters: {} }

/** Reads the target of the requests that match one route of the runtime's router. */
export interface SentTarget {
  /** The app's route; an empty string if none matches. */
  readonly route: string
  readonly matched: (request: RoutedRequest) => MatchedRoute
  /** The path as the client sent it. If URL parsing would change it, its segments are decoded first. */
  readonly loggedPath: (request: RoutedRequest) => string
}

/**
 * Makes the routes for the runtime's router, which matches the request target as it was sent.
 *
 * Routing by `request.url` would be unsafe. It depends on `Host`, and it is parsed: it says `/users/2` for
 * `/products/..\users/2` and for `/products/%2e%2e/users/2`, while a proxy in front may have decided by the target as sent.
 * So the app gets the matching route, and for every other target a route that it does not have.
 */
export function routeTable<Handler>(paths: readonly string[], handle: (target: SentTarget) => Handler) {
  const unrouted = (loggedPath: SentTarget['loggedPath']) => handle({ route: '', matched: () => NO_ROUTE, loggedPath })
  const routes: Record<string, Handler> = {}
  let anyPath = ''
  for (let count = 1; count <= LOGGED_SEGMENTS_MAX; count += 1) {
    anyPath += `/:segment${count}`
    for (const path of [anyPath, `${anyPath}/`]) routes[path] = unrouted(targetOf(path).loggedPath)
  }
  // A path with a star belongs to middleware.
  for (const path of paths) if (!path.includes('*')) routes[path] = handle(targetOf(path))
  return { routes, fetch: unrouted(({ url }) => printablePath(url)) }
}

/** The path of a URL. Not by `new URL`, which fails on the unparsed URLs that the runtime makes of an unusable `Host`. */
export function parsedPath(url: string): string {
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('//') + 2)
  const end = url.indexOf('?', start)
  return url.slice(Math.max(start, 0), end === -1 ? undefined : end)
}

/** The query of a URL with its question mark, or an empty string. */
export function queryOf(url: string): string {
  const start = url.indexOf('?')
  return start === -1 ? '' : printable(url.slice(start))
}

function targetOf(route: string): SentTarget {
  const parts = partsOf(route)
  const last = route.slice(parts.map(({ before, name }) => `${before}:${name}`).join('').length)
  const isPlain = (parameters: PathParameters) => {
    for (const { name } of parts) if (!PLAIN.test(parameters[name] ?? '')) return false
    return true
  }
  return {
    route,
    matched: request => {
      const { params = {} } = request
      if (isPlain(params)) return { route, parameters: params }
      if (isChangedByParsing(Object.values(params), request.url)) return NO_ROUTE
      return { route, parameters: encoded(params) }
    },
    loggedPath: ({ params = {}, url }) => {
      if (isPlain(params) || !isChangedByParsing(Object.values(params), url)) return printablePath(url)
      return parts.map(({ before, name }) => before + escaped(params[name] ?? '')).join('') + last
    },
  }
}

/** The parameters of a route, each with the text in front of it. */
function partsOf(route: string): { before: string; name: string }[] {
  return [...route.matchAll(/([^:]*):(\w+)/g)].map(([, before = '', name = '']) => ({ before, name }))
}

/**
 * Whether URL parsing has changed the path: it resolves the segments `.` and `..`, turns `\` into `/`, and ends the path at
 * `#`. The values are decoded; an escaped `%5C` or `%23` still shows in the parsed path, so the counts tell them apart.
 */
function isChangedByParsing(values: readonly string[], url: string): boolean {
  const path = parsedPath(url)
  const sent = values.join('/')
  return (
    values.includes('.') ||
    values.includes('..') ||
    occurrences(sent, /\\/g) > occurrences(path, /%5c/gi) ||
    occurrences(sent, /#/g) > occurrences(path, /%23/g)
  )
}

function encoded(parameters: PathParameters): PathParameters {
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, encodeURIComponent(value)]))
}

function occurrences(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0
}

function printablePath(url: string): string {
  return printable(parsedPath(url))
}

/** An unparsed URL may have characters that control a terminal, and others that no header may have. */
function printable(text: string): string {
  return text.replaceAll(/[^\x21-\x7e]+/g, encodeURIComponent)
}

/** Keeps the segment readable, including `\`, and escapes only the characters that would change the path. */
function escaped(segment: string): string {
  return encodeURI(segment).replaceAll('%5C', '\\').replaceAll(/[/?#]/g, encodeURIComponent)
}
