import { once } from '../../shared.ts'
import { PASSWORD_MASK } from '../users/schema.ts'
import type { NewRow } from './load.ts'

const HASHES_AT_ONCE = 4

/** Replaces passwords in rows by their hashes. */
export type HashPasswords = (rows: readonly NewRow[]) => Promise<NewRow[]>

/** Hashes the passwords of one import, a few of them at once. */
export function hashingPasswords(hash: (password: string) => Promise<string>): HashPasswords {
  // Nobody knows this password, so it can be the same for all masked ones. Hashing one for each user would take hours.
  const unknown = once(() => hash(crypto.randomUUID()))
  const withHash = async ({ password, ...row }: NewRow): Promise<NewRow> => {
    if (typeof row.password_hash === 'string') return row
    return { ...row, password_hash: await (password === PASSWORD_MASK ? unknown() : hash(String(password))) }
  }
  return async rows => {
    const hashed: NewRow[] = []
    for (let start = 0; start < rows.length; start += HASHES_AT_ONCE) {
      hashed.push(...(await Promise.all(rows.slice(start, start + HASHES_AT_ONCE).map(withHash))))
    }
    return hashed
  }
}
