import type { Workload } from './workloads.ts'

/** Shared by all measurements of a bench. */
export interface Bench {
  /** A temporary folder, deleted at the end. */
  readonly directory: string
  readonly database: SeededDatabase
  readonly workloads: readonly Workload[]
  /** Aborted by Ctrl-C. Pass it to every program that the bench starts. */
  readonly interrupted: AbortSignal
}

/** The database that all servers start from. */
export interface SeededDatabase {
  readonly productIds: readonly number[]
  /** Makes a copy for one server to change. */
  readonly copy: () => Promise<DatabaseCopy>
}

/** Disposing deletes the copy. */
export interface DatabaseCopy extends AsyncDisposable {
  /** Its address, in the form of DATABASE_URL. */
  readonly address: string
  /** Counts the stored products after the server has stopped, to detect lost writes. */
  readonly countProducts: () => Promise<number>
  /** The CPU time of the database's own processes so far; null for an embedded engine. */
  readonly processorSeconds: () => number | null
}
