import type { Clock } from '../../src/clock.ts'

export interface ManualClock extends Clock {
  /** Advances the time and runs everything due by then, in order. */
  readonly advance: (milliseconds: number) => void
  /** Resolves when somebody waits for something exactly that far away. */
  readonly waitedFor: (milliseconds: number) => Promise<void>
}

/** A clock that moves only when a test says so. */
export function manualClock(): ManualClock {
  const waits = new Set<{ readonly due: number; readonly callback: () => void }>()
  let now = 0
  let changed = Promise.withResolvers<void>()
  return {
    now: () => now,
    after: (milliseconds, callback) => {
      const wait = { due: now + milliseconds, callback }
      waits.add(wait)
      changed.resolve()
      changed = Promise.withResolvers()
      return () => waits.delete(wait)
    },
    advance: milliseconds => {
      now += milliseconds
      for (const wait of [...waits].sort((one, other) => one.due - other.due)) {
        if (wait.due <= now && waits.delete(wait)) wait.callback()
      }
    },
    waitedFor: async milliseconds => {
      while (![...waits].some(wait => wait.due - now === milliseconds)) await changed.promise
    },
  }
}
