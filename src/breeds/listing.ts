import { type Clock, pause } from '../clock.ts'

/** Between a status and the event before it, and between a name and its status. */
const STEP_MS = 200

/** What happens on the page, one after the other. */
export type Happening =
  | { readonly kind: 'more to come' }
  | { readonly kind: 'name'; readonly name: string; readonly position: number }
  | { readonly kind: 'no more' }

/**
 * Lists the names one at a time, from the one after the first `shown` on: before each, that there is more to come; after
 * the last, that there is no more.
 */
export async function* listing(
  names: readonly string[],
  shown: number,
  clock: Clock,
  left: AbortSignal,
): AsyncGenerator<Happening> {
  for (const [index, name] of names.entries()) {
    if (index < shown) continue
    await pause(clock, STEP_MS, left)
    yield { kind: 'more to come' }
    await pause(clock, STEP_MS, left)
    yield { kind: 'name', name, position: index + 1 }
  }
  yield { kind: 'no more' }
}
