/** @jsxImportSource hono/jsx */
import type { Clock } from '../clock.ts'
import type { Frame } from '../server/event-stream.ts'
import { fetchNames, ListServiceError } from './list-service.ts'
import { listing } from './listing.ts'
import { MORE_TO_COME, Name, NO_MORE, Status, TOPIC } from './page.tsx'

interface StreamOptions {
  readonly listUrl: string
  /** How many names the page has; null when it did not say, and then no frames but events are sent. */
  readonly shown: number | null
  readonly clock: Clock
  readonly left: AbortSignal
}

/** The names of the list service as the page's own components, each followed by its number if the page counts. */
export async function* breedFrames({ listUrl, shown, clock, left }: StreamOptions): AsyncGenerator<Frame> {
  try {
    const names = await fetchNames(listUrl, clock, left)
    for await (const happening of listing(names, shown ?? 0, clock, left)) {
      if (happening.kind === 'name') {
        yield { name: TOPIC.name, chunk: `${<Name swap>{happening.name}</Name>}` }
        if (shown !== null) yield { id: happening.position }
      } else {
        const text = happening.kind === 'no more' ? NO_MORE : MORE_TO_COME
        yield { name: TOPIC.status, chunk: `${<Status swap>{text}</Status>}` }
      }
    }
  } catch (error) {
    if (!(error instanceof ListServiceError)) throw error
    const text = `The list of breeds is not to be had: ${error.message}. Reload the page to try again.`
    yield { name: TOPIC.status, chunk: `${<Status swap>{text}</Status>}` }
  }
}
