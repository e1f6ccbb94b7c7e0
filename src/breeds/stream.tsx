import { getLogger } from '@logtape/logtape'
/** @jsxImportSource hono/jsx */
import type { Clock } from '../clock.ts'
import type { ServerSentEvent } from '../server/event-stream.ts'
import { type ListService, ListServiceError } from './list-service.ts'
import { listing } from './listing.ts'
import { ListStatus, MORE_TO_COME, Name, NO_MORE, TOPIC } from './page.tsx'

const log = getLogger(['stockroom', 'breeds'])

interface StreamOptions {
  readonly listService: ListService
  readonly listUrl: string
  /** The number of names that the page already shows; `null` for a client that does not count, which gets events only. */
  readonly shown: number | null
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly requestId: string
}

/** The list as events with the page's own components. If the page counts, each name carries its number. */
export async function* breedEvents(options: StreamOptions): AsyncGenerator<ServerSentEvent> {
  const { shown, clock, signal } = options
  const names = await namesFor(options)
  if (names instanceof ListServiceError) {
    yield status(`The list service ${names.message}. Reload the page to try again.`)
    return
  }
  for await (const step of listing(names, shown ?? 0, clock, signal)) {
    if (step.kind === 'more to come') yield status(MORE_TO_COME)
    else if (step.kind === 'no more') yield status(NO_MORE)
    else {
      const event = { name: TOPIC.name, chunk: `${<Name swap>{step.name}</Name>}` }
      yield shown === null ? event : { ...event, id: step.position }
    }
  }
}

async function namesFor(options: StreamOptions): Promise<readonly string[] | ListServiceError> {
  const { listService, listUrl, signal, requestId } = options
  try {
    return await listService.names(listUrl, signal)
  } catch (error) {
    if (!(error instanceof ListServiceError)) throw error
    if (!signal.aborted) log.warning('the list service {reason}', { request_id: requestId, ...logFields(error) })
    return error
  }
}

/** Logs only the code of the cause: its message may contain the address, and with it a credential. */
function logFields({ message, cause }: ListServiceError) {
  return { reason: message, cause: cause instanceof Error && 'code' in cause ? cause.code : undefined }
}

function status(text: string): ServerSentEvent {
  return { name: TOPIC.status, chunk: `${<ListStatus swap>{text}</ListStatus>}` }
}
