import type { StoreDatabase } from '../database/open.ts'
import { errorMessage } from '../program/error-message.ts'
import type { Progress } from '../program/progress.ts'
import { CATEGORIES } from './categories/stored.ts'
import { PRODUCTS } from './products/stored.ts'
import { finishedNotes } from './storage/citus/finished-notes.ts'
import { CatchingUp } from './storage/index/catching-up.ts'
import { postgresIndexSlices } from './storage/postgres/index-slices.ts'
import { sqliteIndexSlices } from './storage/sqlite/index-slices.ts'
import { USERS } from './users/stored.ts'

const INDEXES = [CATEGORIES, PRODUCTS, USERS].map(({ index }) => index)

const PART = 'search index'

/** Keeps the index of search, filters and orders up to date. */
export function searchIndexOf(database: StoreDatabase): CatchingUp {
  const slices =
    database.engine === 'sqlite'
      ? sqliteIndexSlices(database, INDEXES)
      : postgresIndexSlices(database, INDEXES, most => finishedNotes(database, most))
  return new CatchingUp(slices)
}

/** Builds the search index after many rows were stored, so that no service has to. The rows stay stored even if it fails. */
export async function buildSearchIndex(database: StoreDatabase, shown: Progress): Promise<void> {
  let total = 0
  try {
    await searchIndexOf(database).all(left => {
      // Other programs may change further rows meanwhile.
      total = Math.max(total, left)
      shown.report(PART, total - left, total)
    })
    if (total > 0) shown.report(PART, total, total)
  } catch (error) {
    shown.note(`the search index is not complete, which the next service will do: ${errorMessage(error)}`)
  }
}
