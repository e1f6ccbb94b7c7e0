import { setImmediate as turn } from 'node:timers/promises'

/**
 * Makes the function that resolves in a turn of the event loop for one of its callers alone. Each may work for some milliseconds then,
 * and other requests run in between, however many callers there are.
 */
export function ownTurns(): () => Promise<void> {
  let last = Promise.resolve()
  return () => {
    last = last.then(() => turn())
    return last
  }
}

/** The same, but callers share a turn for so many milliseconds, in the order in which they came. */
export function sharedTurns(mostMs: number): () => Promise<void> {
  let began: number | null = null
  const hasTime = () => {
    if (began === null) {
      began = performance.now()
      setImmediate(() => {
        began = null
      })
    }
    return performance.now() - began < mostMs
  }
  return async () => {
    while (!hasTime()) await turn()
  }
}
