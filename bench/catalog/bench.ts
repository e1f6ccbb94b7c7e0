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

/** The one database that all servers begin with. */
export interface SeededDatabase {
  readonly productIds: readonly number[]
  /** A fresh copy of it, for one server to change. */
  readonly copy: () => Promise<DatabaseCopy>
}

/** Disposing removes it. */
export interface DatabaseCopy extends AsyncDisposable {
  /** Where it is, as the service is told. */
  readonly address: string
  /** How many products it holds after its server has gone: what was lost cannot be counted. */
  readonly countProducts: () => Promise<number>
  /** The processor time that an engine with processes of its own has used so far; null where there is none. */
  readonly processorSeconds: () => number | null
}
