import { commandOn, type DatabaseAddress } from '../database/settings.ts'
import type { Scope } from './key.ts'
import type { KeyRing } from './key-ring.ts'

/** A line that says how to make the first key; `null` if there are keys, or if the database does not answer. */
export async function firstKeyHint(keys: KeyRing, database: DatabaseAddress, scope: Scope): Promise<string | null> {
  const isEmpty = await keys.isEmpty().catch(() => false)
  return isEmpty
    ? `There is no access key: ${commandOn(database, `key create NAME --scope ${scope}`)} creates one`
    : null
}
