import { arrivals } from '../arrivals.ts'

/** An event as it was on the wire. */
interface WireEvent {
  readonly name: string
  readonly chunk: string
}

/** A listener of a stream. */
export interface Listener {
  /** Resolves to the head of the response, which may arrive only with the first event. */
  readonly head: Promise<{ readonly status: number; readonly headers: Headers }>
  /** Everything received so far, byte by byte. */
  readonly wire: () => string
  /** The next event that was not returned yet. Fails if the stream ends first. */
  readonly next: () => Promise<WireEvent>
  /** Skips events until one has this text in its chunk. */
  readonly until: (text: string) => Promise<WireEvent>
  /** Resolves to everything received once the stream has ended. */
  readonly end: () => Promise<string>
  /** Resolves to all events once the stream has ended. */
  readonly events: () => Promise<readonly WireEvent[]>
  /** Cuts the connection. */
  readonly leave: () => void
}

export interface ChatClient {
  readonly address: string
  /** Posts the form. */
  readonly post: (
    reqId: string,
    prompt: string,
    headers?: Record<string, string>,
  ) => Promise<{ status: number; headers: Headers; page: string }>
  /** Starts to listen; the answer may come at any time. */
  readonly listen: (reqId: string, headers?: Record<string, string>) => Listener
  readonly stop: (reqId: string) => Promise<number>
  readonly status: (reqId: string) => Promise<string>
  readonly get: (path: string, request?: RequestInit) => Promise<{ status: number; headers: Headers; text: string }>
}

/** Speaks HTTP with a chat server, as a browser would. */
export function chatClient(address: () => string): ChatClient {
  const path = (reqId: string) => `${address()}/chat/${encodeURIComponent(reqId)}`
  return {
    get address() {
      return address()
    },
    post: async (reqId, prompt, headers = {}) => {
      const body = new URLSearchParams({ user_prompt: prompt })
      const response = await fetch(path(reqId), { method: 'POST', body, headers })
      return { status: response.status, headers: response.headers, page: await response.text() }
    },
    listen: (reqId, headers) => listen(`${address()}/chatstream/${encodeURIComponent(reqId)}`, headers),
    stop: async reqId => (await fetch(`${path(reqId)}/stop`, { method: 'POST' })).status,
    status: async reqId => await (await fetch(`${path(reqId)}/status`)).text(),
    get: async (target, request = {}) => {
      const response = await fetch(address() + target, { redirect: 'manual', ...request })
      return { status: response.status, headers: response.headers, text: await response.text() }
    },
  }
}

function listen(url: string, headers: Record<string, string> = {}): Listener {
  const leaving = new AbortController()
  const head = fetch(url, { headers: { 'Accept-Encoding': 'identity', ...headers }, signal: leaving.signal })
  const events = arrivals<WireEvent>(async () => new Error(`the stream ended: ${wire.slice(-500)}`))
  let wire = ''
  const read = async () => {
    const { status, body } = await head
    if (status !== 200 || !body) throw new Error(`GET ${url}: ${status}`)
    const decoder = new TextDecoder()
    let parsed = 0
    for await (const bytes of body) {
      wire += decoder.decode(bytes, { stream: true })
      for (let end = wire.indexOf('\n\n', parsed); end !== -1; end = wire.indexOf('\n\n', parsed)) {
        const frame = wire.slice(parsed, end)
        parsed = end + 2
        if (!frame.startsWith(':')) events.add(wireEvent(frame))
      }
    }
  }
  const over = read()
    .catch(error => {
      if (!leaving.signal.aborted) throw error
    })
    .finally(events.end)
  return {
    head,
    wire: () => wire,
    next: events.next,
    until: async text => {
      for (;;) {
        const event = await events.next()
        if (event.chunk.includes(text)) return event
      }
    },
    end: async () => {
      await over
      return wire
    },
    events: async () => {
      await over
      return events.all
    },
    leave: () => leaving.abort(),
  }
}

/** Strictly: an event is a line with its name, one with its chunk, and an empty one. */
function wireEvent(frame: string): WireEvent {
  const [, name, chunk] = /^event: (\w+)\ndata: ([^\r\n]*)$/.exec(frame) ?? []
  if (name === undefined || chunk === undefined) throw new Error(`no frame of the specification: ${frame}`)
  return { name, chunk }
}
