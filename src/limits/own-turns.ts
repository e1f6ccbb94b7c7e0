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
