/** @jsxImportSource hono/jsx */
import type { ServerSentEvent } from '../server/event-stream.ts'
import type { RenderedAnswer, Rendering } from './answers/rendered-answer.ts'
import { Answer, ClosedListener } from './message.tsx'

const TERMINATE: ServerSentEvent = { name: 'Terminate', chunk: String(<ClosedListener swap />) }

/** The event of each rendering, shared by all listeners. */
const events = new WeakMap<Rendering, ServerSentEvent>()

/** The answer as events for one listener. Each `Response` is the whole text so far. */
export async function* answerEvents(answer: RenderedAnswer, signal: AbortSignal): AsyncGenerator<ServerSentEvent> {
  for await (const rendering of answer.listen(signal)) yield responseEvent(rendering)
  // If the process is stopping, the answer is only detached: the listener reconnects and finds it in another process.
  if (answer.newest.ending && !signal.aborted) yield TERMINATE
}

function responseEvent(rendering: Rendering): ServerSentEvent {
  const event = () => ({ name: 'Response', chunk: String(<Answer rendering={rendering} swap />) })
  return events.getOrInsertComputed(rendering, event)
}
