/** A page on another site, with a link: services are at 127.0.0.1. */
export function otherSite(link: string) {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () =>
      new Response(`<!doctype html><title>Elsewhere</title><a href="${link}">Elsewhere</a>`, {
        headers: { 'Content-Type': 'text/html' },
      }),
  })
  return { address: `http://localhost:${server.port}`, [Symbol.asyncDispose]: () => server.stop(true) }
}
