import { getLogger } from '@logtape/logtape'
/** @jsxImportSource hono/jsx */
import type { Clock } from '../clock.ts'
import type { ServerSentEvent } from '../server/event-stream.ts'
import { type ListService, ListServiceError } from './list-service.ts'
import { listing } from './listing.ts'
import { MORE_TO_COME, Name, NO_MORE, Status, TOPIC } from './page.tsx'

const log = getLogger(['stockroom', 'breeds'])

interface StreamOptions {
  readonly listService: ListService
  readonly listUrl: string
  /** How many names the page has; null when it did not say, and then nothing but events is sent. */
  readonly shown: number | null
  readonly clock: Clock
  readonly left: AbortSignal
  readonly requestId: string
}

/** The names of the list service as the page's own components, each followed by its number if the page counts. */
export async function* breedEvents(options: StreamOptions): AsyncGenerator<ServerSentEvent> {
  const { shown, clock, left } = options
  const names = await namesFor(options)
  if (names instanceof ListServiceError) {
    yield status(`The list service ${names.message}. Reload the page to try again.`)
    return
  }
  for await (const happening of listing(names, shown ?? 0, clock, left)) {
    if (happening.kind === 'more to come') yield status(MORE_TO_COME)
    else if (happening.kind === 'no more') yield status(NO_MORE)
    else {
      const event = { name: TOPIC.name, chunk: `${<Name swap>{happening.name}</Name>}` }
      yield shown === null ? event : { ...event, id: happening.position }
    }
  }
}

async function namesFor(options: StreamOptions): Promise<readonly string[] | ListServiceError> {
  const { listService, listUrl, left, requestId } = options
  try {
    return await listService.names(listUrl, left)
  } catch (error) {
    if (!(error instanceof ListServiceError)) throw error
    if (!left.aborted) log.warning('the list service {reason}', { request_id: requestId, ...told(error) })
    return error
  }
}

/** The cause by its code alone: its message may hold the address, and with it a credential. */
function told({ message, cause }: ListServiceError) {
  return { reason: message, cause: cause instanceof Error && 'code' in cause ? cause.code : undefined }
}

function status(text: string): ServerSentEvent {
  return { name: TOPIC.status, chunk: `${<Status swap>{text}</Status>}` }
}
