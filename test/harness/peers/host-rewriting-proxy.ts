interface HostRewritingProxy extends AsyncDisposable {
  readonly address: string
}

/** A reverse proxy that sends the server its own address as `Host`, as nginx does by default. */
export function startHostRewritingProxy(target: string): HostRewritingProxy {
  const proxy = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async request => {
      const { pathname, search } = new URL(request.url)
      const headers = new Headers(request.headers)
      headers.delete('Host')
      headers.set('Accept-Encoding', 'identity')
      const body = request.method === 'POST' ? await request.bytes() : null
      const { method, signal } = request
      return fetch(target + pathname + search, { method, headers, body, signal, redirect: 'manual' })
    },
  })
  return {
    address: `http://localhost:${proxy.port}`,
    [Symbol.asyncDispose]: async () => {
      await proxy.stop(true)
    },
  }
}
