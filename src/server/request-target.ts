/** The log shows targets without a route as they were sent if they have at most this many segments. */
const LOGGED_SEGMENTS_MAX = 12

/** A path that no route of an app has. */
const NO_ROUTE = '//'

/** A path parameter that needs no percent-encoding and that URL parsing does not change. */
const PLAIN = /^[\w~-]+$/

/** A request from the runtime's router, with its path parameters as they were sent, percent-decoded. */
export interface RoutedRequest extends Request {
  readonly params?: Readonly<Record<string, string>>
}

/** Reads the path of the requests that match one route of the runtime's router. */
export interface SentPath {
  /** The path for the app's router. */
  readonly routed: (request: RoutedRequest) => string
  /** The path as the client sent it, for the log. */
  readonly logged: (request: RoutedRequest) => string
}

/**
 * Makes the routes for the runtime's router, which matches the request target as it was sent.
 *
 * Routing by `request.url` would be unsafe. It depends on `Host`, and it is parsed: it says `/users/2` for
 * `/products/..\users/2` and for `/products/%2e%2e/users/2`, while a proxy in front may have decided by the target as sent.
 * So the app gets the path of the matching route, and for every other target a path that it does not have.
 */
export function routeTable<Handler>(paths: readonly string[], handle: (path: SentPath) => Handler) {
  const routes: Record<string, Handler> = {}
  let anyPath = ''
  for (let count = 1; count <= LOGGED_SEGMENTS_MAX; count += 1) {
    anyPath += `/:segment${count}`
    routes[anyPath] = handle({ routed: () => NO_ROUTE, logged: sentPath })
    routes[`${anyPath}/`] = handle({ routed: () => NO_ROUTE, logged: request => `${sentPath(request)}/` })
  }
  // A path with a star belongs to middleware.
  for (const path of paths) if (!path.includes('*')) routes[path] = handle(pathOfRoute(path))
  return { routes, fetch: handle({ routed: () => NO_ROUTE, logged: ({ url }) => parsedPath(url) }) }
}

/** The path of a URL. Not by `new URL`, which fails on the unparsed URLs that the runtime makes of an unusable `Host`. */
function parsedPath(url: string): string {
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('//') + 2)
  const end = url.indexOf('?', start)
  return url.slice(Math.max(start, 0), end === -1 ? undefined : end)
}

/** The query of a URL with its question mark, or an empty string. */
export function queryOf(url: string): string {
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start)
}

function pathOfRoute(route: string): SentPath {
  const parts = partsOf(route)
  const last = route.slice(parts.map(({ before, name }) => `${before}:${name}`).join('').length)
  const filled = (parameters: Readonly<Record<string, string>>, written: (value: string) => string) => {
    let path = ''
    for (const { before, name } of parts) path += before + written(parameters[name] ?? '')
    return path + last
  }
  return {
    routed: request => {
      const { params = {} } = request
      let path = ''
      for (const { before, name } of parts) {
        const value = params[name] ?? ''
        if (!PLAIN.test(value)) {
          return isChangedByParsing(Object.values(params), request.url) ? NO_ROUTE : filled(params, encodeURIComponent)
        }
        path += before + value
      }
      return path + last
    },
    logged: ({ params = {}, url }) => {
      const isPlain = parts.every(({ name }) => PLAIN.test(params[name] ?? ''))
      if (isPlain || !isChangedByParsing(Object.values(params), url)) return parsedPath(url)
      return filled(params, escaped)
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

function occurrences(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0
}

function sentPath({ params = {} }: RoutedRequest): string {
  return Object.values(params)
    .map(value => `/${escaped(value)}`)
    .join('')
}

/** Keeps the segment readable, including `\`, and escapes only the characters that would change the path. */
function escaped(segment: string): string {
  return encodeURI(segment).replaceAll('%5C', '\\').replaceAll(/[/?#]/g, encodeURIComponent)
}
