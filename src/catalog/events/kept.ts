import { getLogger } from '@logtape/logtape'
import type { ChangeHistory } from '../../database/change.ts'
import { regularly } from '../../database/regularly.ts'
import type { Feed } from './feed.ts'

const log = getLogger(['stockroom', 'events'])

const PERIOD_MS = 1_000

/** Removes old events, now and at intervals. Disposing of the result waits for work in progress. */
export function removeOldEvents(feed: Feed, history: ChangeHistory): AsyncDisposable {
  const work = async () => {
    await feed.begin()
    await history.removeOld()
  }
  return regularly({ periodMs: PERIOD_MS, work, log })
}
