import type { StoreDatabase } from '../../database/open.ts'
import type { Progress } from '../../program/progress.ts'
import { searchIndexOf } from '../repositories.ts'

const PART = 'search index'

/** Builds the search index after many rows were stored, so that no service has to. */
export async function buildSearchIndex(database: StoreDatabase, shown: Progress): Promise<void> {
  let total = 0
  await searchIndexOf(database).all(left => {
    // Other programs may change further rows meanwhile.
    total = Math.max(total, left)
    shown.report(PART, total - left, total)
  })
  if (total > 0) shown.report(PART, total, total)
}
