import { getLogger } from '@logtape/logtape'
import { pause, systemClock } from '../../../clock.ts'
import { regularly } from '../../../database/regularly.ts'
import type { KeyStore } from './keys.ts'

const log = getLogger(['stockroom', 'idempotency'])

const PERIOD_MS = 60_000

/** Between two deletions, so that other writes come first. */
const PAUSE_MS = 20

/** Deletes expired keys, now and at intervals. Disposing of the result waits for work in progress. */
export function expireKeys(keys: KeyStore): AsyncDisposable {
  const work = async (signal: AbortSignal) => {
    while (!signal.aborted && (await keys.deleteExpired()) > 0) await pause(systemClock, PAUSE_MS, signal)
  }
  return regularly({ periodMs: PERIOD_MS, work, log })
}
