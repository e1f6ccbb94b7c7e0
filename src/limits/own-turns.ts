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

/** The same, but callers share a turn for so many milliseconds. Those who come later wait for turns of their own. */
export function sharedTurns(mostMs: number): () => Promise<void> {
  const own = ownTurns()
  let waiting = 0
  let began: number | null = null
  return async () => {
    if (began === null) {
      began = performance.now()
      setImmediate(() => {
        began = null
      })
    }
    if (waiting === 0 && performance.now() - began < mostMs) return
    waiting += 1
    await own()
    waiting -= 1
  }
}
