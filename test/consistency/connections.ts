/** The JSON of an answer with status 200 and its `ETag`, or the reason why there is none. */
export type Reply = { readonly body: unknown; readonly tag: string | null } | { readonly failure: string }

/** Sends a request, with the `ETag` that a write expects, and waits for the whole answer. */
export type Ask = (method: string, path: string, body?: unknown, ifMatch?: string) => Promise<Reply>

const HEAD_END = '\r\n\r\n'

/** Requests over a kept connection. */
export function onKeptConnection(address: () => string): Ask {
  return (method, path, body, ifMatch) => fetched(address() + path, method, body, expecting(ifMatch))
}

/** Requests over a new connection each time, like a proxy without upstream keep-alive. */
export function onNewConnections(address: () => string): Ask {
  return (method, path, body, ifMatch) =>
    fetched(address() + path, method, body, { ...expecting(ifMatch), Connection: 'close' })
}

function expecting(ifMatch: string | undefined): Record<string, string> {
  return ifMatch === undefined ? {} : { 'If-Match': ifMatch }
}

async function fetched(url: string, method: string, body: unknown, headers: Record<string, string>): Promise<Reply> {
  try {
    const response = await fetch(url, {
      method,
      headers: { ...headers, 'Content-Type': 'application/json' },
      keepalive: !('Connection' in headers),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return response.ok
      ? { body: await response.json(), tag: response.headers.get('ETag') }
      : { failure: `${method} ${url}: ${response.status} ${await response.text()}` }
  } catch (error) {
    return { failure: `${method} ${url}: ${error}` }
  }
}

interface Waiting {
  readonly request: string
  readonly resolve: (reply: Reply) => void
}

/**
 * Sends each request at once on one connection, without waiting for the answers to those before it (RFC 9112, 9.3.2).
 * For answers that say their length.
 */
export class PipelinedConnection {
  readonly #address: () => string
  #socket: Promise<Bun.Socket> | null = null
  #waiting: Waiting[] = []
  #received = Buffer.alloc(0)

  constructor(address: () => string) {
    this.#address = address
  }

  readonly ask: Ask = (method, path, body) => {
    const text = body === undefined ? '' : JSON.stringify(body)
    const length = Buffer.byteLength(text)
    const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
    const { promise, resolve } = Promise.withResolvers<Reply>()
    this.#waiting.push({ request: `${method} ${path}`, resolve })
    this.#socket ??= this.#connect()
    this.#socket.then(
      socket => socket.write(`${head}Content-Length: ${length}${HEAD_END}${text}`),
      error => this.#fail(String(error)),
    )
    return promise
  }

  async close(): Promise<void> {
    const socket = await this.#socket?.catch(() => null)
    socket?.end()
  }

  #connect(): Promise<Bun.Socket> {
    const { hostname, port } = new URL(this.#address())
    return Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        data: (_, bytes) => this.#take(bytes),
        close: () => this.#fail('the connection was closed'),
        error: (_, error) => this.#fail(error.message),
      },
    })
  }

  #take(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes])
    for (;;) {
      const headEnd = this.#received.indexOf(HEAD_END)
      if (headEnd === -1) return
      const head = this.#received.toString('latin1', 0, headEnd)
      const length = Number(/\ncontent-length: (\d+)/i.exec(head)?.[1])
      const end = headEnd + HEAD_END.length + length
      if (this.#received.length < end) return
      const text = this.#received.toString('utf8', headEnd + HEAD_END.length, end)
      this.#received = this.#received.subarray(end)
      const one = this.#waiting.shift()
      const isGood = head.startsWith('HTTP/1.1 200')
      const tag = /\netag: (.*)/i.exec(head)?.[1] ?? null
      one?.resolve(
        isGood ? { body: JSON.parse(text), tag } : { failure: `${one.request}: ${head.slice(0, 12)} ${text}` },
      )
    }
  }

  #fail(reason: string): void {
    this.#socket = null
    this.#received = Buffer.alloc(0)
    for (const { request, resolve } of this.#waiting.splice(0)) resolve({ failure: `${request}: ${reason}` })
  }
}
