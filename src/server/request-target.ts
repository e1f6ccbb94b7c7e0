/** Targets without a route are logged as they were sent up to so many segments. */
const LOGGED_SEGMENTS_MAX = 12

/** For an app's router: a path that none of its routes has. */
const NOWHERE = '//'

/** A value of a path parameter that parsing leaves as it is and that needs no percent-encoding. */
const PLAIN = /^[\w~-]+$/

/** A request as the runtime's router hands it over, with the path's parameters as they were sent, decoded. */
export interface RoutedRequest extends Request {
  readonly params?: Readonly<Record<string, string>>
}

/** Reads the path of requests that the runtime's router sent one way. */
export interface SentPath {
  /** The path to route by. */
  readonly routed: (request: RoutedRequest) => string
  /** The path as the client wrote it, for the log. */
  readonly logged: (request: RoutedRequest) => string
}

/**
 * Handlers for the runtime's router, which matches the request target as it was sent.
 *
 * `request.url` cannot be routed by: it is parsed, so that it says `/users/2` for `/products/..\users/2` and for
 * `/products/%2e%2e/users/2`, and it depends on `Host`. A proxy in front may have decided by what was sent. So an app gets
 * the path of the route that the runtime's router found, and for everything else a path that it does not have.
 */
export function routeTable<Handler>(paths: readonly string[], handle: (path: SentPath) => Handler) {
  const routes: Record<string, Handler> = {}
  let anyPath = ''
  for (let count = 1; count <= LOGGED_SEGMENTS_MAX; count += 1) {
    anyPath += `/:segment${count}`
    routes[anyPath] = handle({ routed: () => NOWHERE, logged: sentPath })
    routes[`${anyPath}/`] = handle({ routed: () => NOWHERE, logged: request => `${sentPath(request)}/` })
  }
  // A pattern with a star is middleware's.
  for (const path of paths) if (!path.includes('*')) routes[path] = handle(pathOfRoute(path))
  return { routes, fetch: handle({ routed: () => NOWHERE, logged: ({ url }) => parsedPath(url) }) }
}

/** The path of an address. `new URL` would fail where `Host` is odd, since the runtime leaves such addresses unparsed. */
function parsedPath(url: string): string {
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('//') + 2)
  const end = url.indexOf('?', start)
  return url.slice(Math.max(start, 0), end === -1 ? undefined : end)
}

/** The query of an address with its question mark; empty when there is none. */
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
          return isChangedByParsing(Object.values(params), request.url) ? NOWHERE : filled(params, encodeURIComponent)
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

/** The parameters of a route, each with the text before it. */
function partsOf(route: string): { before: string; name: string }[] {
  return [...route.matchAll(/([^:]*):(\w+)/g)].map(([, before = '', name = '']) => ({ before, name }))
}

/**
 * Whether parsing made another path of what was sent: it resolves the segments `.` and `..`, takes `\` for `/`, and ends the
 * path at `#`. The values are decoded, and `%5C` and `%23` are still to be seen in the parsed path.
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

/** What a segment may hold without being another path stays readable; a `\` is one of them. */
function escaped(segment: string): string {
  return encodeURI(segment).replaceAll('%5C', '\\').replaceAll(/[/?#]/g, encodeURIComponent)
}
