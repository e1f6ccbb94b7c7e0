/** Browsers may keep the answer to a preflight this long. */
const PREFLIGHT_SECONDS = 600

const METHODS = 'GET, HEAD, PUT, PATCH, POST, DELETE'

/** Lets pages of other origins read responses (https://fetch.spec.whatwg.org/#http-cors-protocol), never with credentials. */
export class CrossOrigin {
  readonly #origins: ReadonlySet<string>
  readonly #isOpen: boolean
  readonly #exposed: string

  /** `*` stands for every origin. `exposed` are the response headers that pages may read. */
  constructor(origins: readonly string[], exposed: readonly string[]) {
    this.#origins = new Set(origins)
    this.#isOpen = this.#origins.has('*')
    this.#exposed = exposed.join(', ')
  }

  /** The answer to a preflight, still to be described. */
  preflight(request: Headers): Response {
    const headers = new Headers({
      'Access-Control-Allow-Methods': METHODS,
      'Access-Control-Max-Age': String(PREFLIGHT_SECONDS),
    })
    const asked = request.get('Access-Control-Request-Headers')
    if (asked !== null) headers.set('Access-Control-Allow-Headers', asked)
    return new Response(null, { status: 204, headers })
  }

  /** Adds the headers that every response needs. */
  describe(response: Headers, origin: string | null): void {
    if (!this.#isOpen) response.append('Vary', 'Origin')
    const isAllowed = this.#isOpen || (origin !== null && this.#origins.has(origin))
    if (!isAllowed) return
    response.set('Access-Control-Allow-Origin', this.#isOpen ? '*' : (origin ?? ''))
    response.set('Access-Control-Expose-Headers', this.#exposed)
  }
}

/** Browsers send preflights by themselves, before a request that a page has made. */
export function isPreflight({ method, headers }: Request): boolean {
  return method === 'OPTIONS' && headers.has('Access-Control-Request-Method')
}
