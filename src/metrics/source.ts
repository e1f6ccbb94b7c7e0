import type { Awaitable } from '../awaitable.ts'
import type { Family } from './family.ts'

/** A port on which operators see metrics. */
export interface ShownMetrics extends AsyncDisposable {
  /** Prints its address. */
  readonly announce: () => void
}

/** A server whose metrics operators can see. */
export interface MetricsSource {
  readonly families: () => Awaitable<readonly Family[]>
  /** The port that clients use; 0 until it is known. */
  readonly port: number
  /** Resolves while the server can answer requests; rejects with the reason when it cannot. */
  readonly probe?: (() => Promise<void>) | undefined
}
