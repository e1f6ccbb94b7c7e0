import type { Family } from '../metrics/family.ts'
import type { ShownMetrics } from '../metrics/source.ts'
import type { Probe } from '../server/app.ts'
import type { Listening } from '../server/listen.ts'
import type { Observer } from '../server/requests.ts'

/** Counts what a process does, and shows it to operators. */
export interface Admin extends Disposable {
  /** Called for every request. */
  readonly observers: readonly Observer[]
  /** Listens on the port for operators. A worker leaves that to its supervisor, and answers its questions. */
  readonly show: (observed: Observed) => ShownMetrics
}

/** A process that serves, with the probe and the metrics of its part. */
interface Observed {
  readonly server: Listening
  readonly probe?: Probe
  readonly families?: () => readonly Family[]
}
