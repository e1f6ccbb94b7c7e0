import type { Context } from 'hono'
import { parsedPath, queryOf } from '../server/request-target.ts'
import type { RequestScope } from '../server/requests.ts'

/** Headers about one connection (RFC 9110, 7.6.1), which each side makes for itself. */
const OF_CONNECTION = ['connection', 'keep-alive', 'transfer-encoding', 'host']

/** An answer may take as long as the service allows: a deletion, or a post of many lines. An idle connection is closed sooner. */
const ANSWER_MAX_SECONDS = 120

/** The service's own paths. */
export const FORWARDED: readonly string[] = [
  ...['/categories', '/products', '/reviews', '/users'].flatMap(collection =>
    ['', '/', '/:a', '/:a/:b', '/:a/:b/:c', '/:a/:b/:c/:d'].map(rest => collection + rest),
  ),
  ...['/facets/products', '/ratings/products/:id', '/events'],
  ...['/openapi.json', '/openapi.strict.json', '/docs', '/docs/:file'],
]

/** Passes requests to the service at `address`, and its answers back, byte for byte and while they are sent. */
export function forwardTo(address: string) {
  return async (context: Context<{ Bindings: RequestScope }>): Promise<Response> => {
    const { request } = context.env
    context.env.allowIdle(ANSWER_MAX_SECONDS)
    const { method, url, body, signal } = request
    const answer = await fetch(address + parsedPath(url) + queryOf(url), {
      method,
      headers: without(OF_CONNECTION, request.headers),
      body,
      signal,
      redirect: 'manual',
      proxy: false,
      // The client gets it as the service has compressed it.
      decompress: false,
    })
    // Without a body, the runtime would say that the length is 0 (RFC 9110, 8.6).
    const isStreamedHead = method === 'HEAD' && answer.ok && !answer.headers.has('Content-Length')
    const sent = isStreamedHead ? new ReadableStream() : answer.body
    return new Response(sent, { status: answer.status, headers: without(OF_CONNECTION, answer.headers) })
  }
}

function without(names: readonly string[], headers: Headers): Headers {
  const kept = new Headers(headers)
  for (const name of names) kept.delete(name)
  return kept
}
