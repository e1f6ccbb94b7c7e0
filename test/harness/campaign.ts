import { test } from 'bun:test'

/** The variable with which `npm run torture` sets each campaign's length in minutes. */
export const TORTURE_VARIABLE = 'STOCKROOM_TORTURE_MINUTES'

/** The variable with which `npm run torture` names the folder for the histories that some campaigns write. */
export const HISTORY_VARIABLE = 'STOCKROOM_TORTURE_HISTORY'

/** Far longer than on a quiet machine: a campaign is never to fail because the machine is busy. */
const SHORT_TIMEOUT_MS = 300_000

/** Extra time for setup, teardown and shrinking a failure. */
const TORTURE_GRACE_MS = 300_000

/** The shortest time for a property: fast-check fails one that it could not run once. */
const RUNS_LEAST_MS = 10_000

/** How much a campaign does: the amount it names in `npm test`, and as much as time allows in `npm run torture`. */
export interface Effort {
  /** For fast-check. */
  readonly runs: (short: number) => { readonly numRuns: number; readonly interruptAfterTimeLimit?: number }
  /** Numbered from 0. */
  readonly rounds: (short: number) => Iterable<number>
  readonly seconds: (short: number) => number
  /** The size of what is worked on. */
  readonly size: (short: number, long: number) => number
}

/** A test that finds more the longer it runs. `npm run torture` runs the files that have one. */
export function campaign(name: string, body: (effort: Effort) => void | Promise<void>): void {
  const milliseconds = Number(process.env[TORTURE_VARIABLE] ?? 0) * 60_000
  if (milliseconds === 0) test(name, () => body(SHORT), SHORT_TIMEOUT_MS)
  else test(name, () => body(long(milliseconds)), milliseconds + TORTURE_GRACE_MS)
}

const SHORT: Effort = {
  runs: numRuns => ({ numRuns }),
  rounds: short => Array(short).keys(),
  seconds: short => short,
  size: short => short,
}

function long(milliseconds: number): Effort {
  const end = performance.now() + milliseconds
  return {
    runs: () => ({
      numRuns: Number.MAX_SAFE_INTEGER,
      interruptAfterTimeLimit: Math.max(RUNS_LEAST_MS, end - performance.now()),
    }),
    rounds: function* () {
      // One at least, although the start of the services may have taken all of the time.
      yield 0
      for (let round = 1; performance.now() < end; round += 1) yield round
    },
    seconds: () => (end - performance.now()) / 1_000,
    size: (_, long) => long,
  }
}
