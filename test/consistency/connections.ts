/** The JSON of an answer with status 200 and its `ETag`, or the reason why there is none. */
export type Reply = { readonly body: unknown; readonly tag: string | null } | { readonly failure: string }

/** Sends a request, with the `ETag` that a write expects, and waits for the whole answer. */
export type Ask = (method: string, path: string, body?: unknown, ifMatch?: string) => Promise<Reply>

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
