import { type Clock, pause } from '../clock.ts'

/** Pause before each status and each name. */
const STEP_MS = 200

/** One step of the listing, as the page shows it. */
export type ListingStep =
  | { readonly kind: 'more to come' }
  | { readonly kind: 'name'; readonly name: string; readonly position: number }
  | { readonly kind: 'no more' }

/**
 * Lists the names one at a time and skips the first `shown`. Each name follows a 'more to come' step, and 'no more' ends
 * the list.
 */
export async function* listing(
  names: readonly string[],
  shown: number,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<ListingStep> {
  for (const [index, name] of names.entries()) {
    if (index < shown) continue
    await pause(clock, STEP_MS, signal)
    yield { kind: 'more to come' }
    await pause(clock, STEP_MS, signal)
    yield { kind: 'name', name, position: index + 1 }
  }
  yield { kind: 'no more' }
}
