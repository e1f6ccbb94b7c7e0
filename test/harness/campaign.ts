import { test } from 'bun:test'

/** Where `npm run torture` says for how many minutes each campaign goes on. */
export const TORTURE_VARIABLE = 'STOCKROOM_TORTURE_MINUTES'

/** Where `npm run torture` says in which folder campaigns that can do so write what they saw. */
export const HISTORY_VARIABLE = 'STOCKROOM_TORTURE_HISTORY'

const SHORT_TIMEOUT_MS = 120_000

/** For what comes before and after, and for making a failure smaller. */
const TORTURE_GRACE_MS = 300_000

/** A property that is not tried once in its time counts as failed. */
const RUNS_LEAST_MS = 10_000

/** How much a campaign does: as much as it names in `npm test`, and in `npm run torture` as much as there is time for. */
export interface Effort {
  /** For fast-check. */
  readonly runs: (short: number) => { readonly numRuns: number; readonly interruptAfterTimeLimit?: number }
  /** Numbered from 0. */
  readonly rounds: (short: number) => Iterable<number>
  readonly seconds: (short: number) => number
}

/** A test that finds the more the longer it runs. `npm run torture` runs the files that have one. */
export function campaign(name: string, body: (effort: Effort) => void | Promise<void>): void {
  const milliseconds = Number(process.env[TORTURE_VARIABLE] ?? 0) * 60_000
  if (milliseconds === 0) test(name, () => body(SHORT), SHORT_TIMEOUT_MS)
  else test(name, () => body(long(milliseconds)), milliseconds + TORTURE_GRACE_MS)
}

const SHORT: Effort = {
  runs: numRuns => ({ numRuns }),
  rounds: short => Array(short).keys(),
  seconds: short => short,
}

function long(milliseconds: number): Effort {
  const end = performance.now() + milliseconds
  return {
    runs: () => ({
      numRuns: Number.MAX_SAFE_INTEGER,
      interruptAfterTimeLimit: Math.max(RUNS_LEAST_MS, end - performance.now()),
    }),
    rounds: function* () {
      for (let round = 0; performance.now() < end; round += 1) yield round
    },
    seconds: () => (end - performance.now()) / 1_000,
  }
}
