/** Time, for whatever waits: the machine's, or a test's. */
export interface Clock {
  /** Milliseconds that only ever go forward. */
  readonly now: () => number
  /** Calls back once, after so many milliseconds. The answer calls it off. */
  readonly after: (milliseconds: number, callback: () => void) => () => void
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds)
    return () => clearTimeout(timer)
  },
}

/** Resolves after so many milliseconds, or as soon as the signal says stop. */
export function pause(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve()
    const callOff = clock.after(milliseconds, () => {
      signal.removeEventListener('abort', stopped)
      resolve()
    })
    const stopped = () => {
      callOff()
      resolve()
    }
    signal.addEventListener('abort', stopped, { once: true })
  })
}
