import type { Rows } from './seed.ts'
import type { Workload } from './workloads.ts'

/** Shared by all measurements of a bench. */
export interface Bench {
  /** A temporary folder, deleted at the end. */
  readonly directory: string
  /** The database with so many rows, seeded when it is first asked for. */
  readonly seeded: (rows: Rows) => Promise<SeededDatabase>
  readonly workloads: readonly Workload[]
  /** Aborted by Ctrl-C. Pass it to every program that the bench starts. */
  readonly interrupted: AbortSignal
}

/** The database that all servers start from. */
export interface SeededDatabase {
  /** A copy for one server, if the server changes anything; otherwise it may be the original. */
  readonly copy: (changed: boolean) => Promise<DatabaseCopy>
}

/** Disposing deletes the copy. */
export interface DatabaseCopy extends AsyncDisposable {
  /** Its address, in the form of DATABASE_URL. */
  readonly address: string
  /** Counts stored rows after the server has stopped, to detect lost writes. */
  readonly count: (table: 'products' | 'reviews') => Promise<number>
  /** The CPU time of the database's own processes so far; null for an embedded engine. */
  readonly processorSeconds: () => number | null
}
