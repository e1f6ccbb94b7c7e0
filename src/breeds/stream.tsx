/** @jsxImportSource hono/jsx */
import { getLogger } from '@logtape/logtape'
import { type Clock, pause } from '../clock.ts'
import type { ServerSentEvent } from '../server/event-stream.ts'
import { type List, ListServiceError } from './list-service.ts'
import { MORE_TO_COME, NO_MORE, Replaced, type ReplacingTopic, TOPIC } from './page.tsx'

const log = getLogger(['stockroom', 'breeds'])

/** Pause before each status and each name. */
const STEP_MS = 200

interface StreamOptions {
  readonly list: List
  /** The number of names that the page already shows; `null` for a client that does not count, which gets events only. */
  readonly shown: number | null
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly requestId: string
}

/**
 * Yields the names that the page does not show yet, one at a time, as the page's own components. Before each name it yields the
 * status that more are coming. If the page counts, the event of a name has the name's number as its id.
 */
export async function* breedEvents(options: StreamOptions): AsyncGenerator<ServerSentEvent> {
  const { list, shown, clock, signal, requestId } = options
  let names: readonly string[]
  try {
    names = await list()
  } catch (error) {
    if (!(error instanceof ListServiceError)) throw error
    if (!signal.aborted) log.warning('the list service {reason}', { request_id: requestId, ...logFields(error) })
    yield replacing(TOPIC.status, `The list service ${error.message}. Reload the page to try again.`)
    return
  }
  for (const [index, name] of names.entries()) {
    if (index < (shown ?? 0)) continue
    await pause(clock, STEP_MS, signal)
    yield replacing(TOPIC.status, MORE_TO_COME)
    await pause(clock, STEP_MS, signal)
    const event = replacing(TOPIC.name, name)
    yield shown === null ? event : { ...event, id: index + 1 }
  }
  yield replacing(TOPIC.status, NO_MORE)
}

/** Logs only the code of the cause: its message may contain the address, and with it a credential. */
function logFields({ message, cause }: ListServiceError) {
  return { reason: message, cause: cause instanceof Error && 'code' in cause ? cause.code : undefined }
}

function replacing(topic: ReplacingTopic, text: string): ServerSentEvent {
  const element = (
    <Replaced topic={topic} swap>
      {text}
    </Replaced>
  )
  return { name: topic, chunk: String(element) }
}
