/** The source of time for code that waits; tests pass their own. */
export interface Clock {
  /** Monotonic time in milliseconds. */
  readonly now: () => number
  /** Calls back once, after the delay. Returns a function that cancels the call. */
  readonly after: (milliseconds: number, callback: () => void) => () => void
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds)
    return () => clearTimeout(timer)
  },
}

/** Resolves after the delay, or as soon as the signal is aborted. */
export function pause(clock: Clock, milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted) return resolve()
    const cancel = clock.after(milliseconds, () => {
      signal?.removeEventListener('abort', abort)
      resolve()
    })
    const abort = () => {
      cancel()
      resolve()
    }
    signal?.addEventListener('abort', abort, { once: true })
  })
}

/** Resolves to the result of the work, or to `null` when the time is up. */
export async function within<Result>(
  clock: Clock,
  milliseconds: number,
  work: Promise<Result>,
): Promise<Result | null> {
  const done = new AbortController()
  const timeUp = pause(clock, milliseconds, done.signal).then(() => null)
  return Promise.race([work, timeUp]).finally(() => done.abort())
}
