/** @jsxImportSource hono/jsx */
import type { ServerSentEvent } from '../server/event-stream.ts'
import type { RenderedAnswer, Rendering } from './answers/rendered-answer.ts'
import { Answer, ClosedListener } from './message.tsx'

const TERMINATE: ServerSentEvent = { name: 'Terminate', chunk: String(<ClosedListener isUpdate />) }

/** One for all listeners, as most of them get the same. */
const events = new WeakMap<Rendering, ServerSentEvent>()

/** The answer as the events of a stream, for one listener: each `Response` is the whole text so far. */
export async function* answerEvents(answer: RenderedAnswer, signal: AbortSignal): AsyncGenerator<ServerSentEvent> {
  for await (const rendering of answer.listen(signal)) yield responseEvent(rendering)
  // One whom the answer has only left, as its process ends, connects again and finds it elsewhere.
  if (answer.newest.ending && !signal.aborted) yield TERMINATE
}

function responseEvent(rendering: Rendering): ServerSentEvent {
  let event = events.get(rendering)
  if (!event) {
    event = { name: 'Response', chunk: String(<Answer rendering={rendering} isUpdate />) }
    events.set(rendering, event)
  }
  return event
}
