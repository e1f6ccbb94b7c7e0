import type { Clock } from '../../src/clock.ts'
import { eventStream, type ServerSentEvent } from '../../src/server/event-stream.ts'
import { listen } from '../../src/server/listen.ts'
import { atRoot, LOOPBACK } from './loopback.ts'

/** Serves one stream the way an app does. */
export function serve(frames: (left: AbortSignal) => AsyncIterable<ServerSentEvent>, clock?: Clock) {
  return listen({
    app: atRoot((_, scope) => eventStream(scope, frames, clock)),
    ...LOOPBACK,
  })
}

export async function* twoEvents(): AsyncGenerator<ServerSentEvent> {
  yield { name: 'First', chunk: '<p>one</p>', id: 7 }
  yield { name: 'Second', chunk: '<pre>a\nb\r\nc\rd</pre>' }
}

export const TWO_EVENTS =
  'event: First\ndata: <p>one</p>\n\nid: 7\n\nevent: Second\ndata: <pre>a&#10;b&#10;c&#10;d</pre>\n\n'

/** A moment that a test can wait for. */
export function gate() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

export function ask(address: string, accepted: string): Promise<Response> {
  return fetch(address, { headers: { 'Accept-Encoding': accepted }, decompress: false })
}
