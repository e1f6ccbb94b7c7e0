/** @jsxImportSource hono/jsx */
import type { ServerSentEvent } from '../server/event-stream.ts'
import type { Rendition, Shown } from './answers/rendition.ts'
import { Answer, ClosedListener } from './message.tsx'

const TERMINATE: ServerSentEvent = { name: 'Terminate', chunk: String(<ClosedListener isUpdate />) }

/** One for all listeners, as most of them are shown the same. */
const events = new WeakMap<Shown, ServerSentEvent>()

/** The answer as the events of a stream, for one listener: each `Response` is the whole text so far. */
export async function* answerEvents(answer: Rendition, signal: AbortSignal): AsyncGenerator<ServerSentEvent> {
  for await (const shown of answer.listen(signal)) yield responseEvent(shown)
  // One whom the answer has only left, as its process ends, connects again and finds it elsewhere.
  if (answer.shown.ending && !signal.aborted) yield TERMINATE
}

function responseEvent(shown: Shown): ServerSentEvent {
  let event = events.get(shown)
  if (!event) {
    event = { name: 'Response', chunk: String(<Answer shown={shown} isUpdate />) }
    events.set(shown, event)
  }
  return event
}
