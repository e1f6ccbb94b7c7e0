import type { SeededDatabase } from './seeded-database.ts'
import type { Workload } from './workloads.ts'

/** What everything that is measured here has in common. */
export interface Bench {
  /** For what is gone when the bench is over. */
  readonly directory: string
  readonly database: SeededDatabase
  readonly workloads: readonly Workload[]
  /** Whoever waits for a program gives it this, so that Ctrl-C ends them all. */
  readonly interrupted: AbortSignal
}
