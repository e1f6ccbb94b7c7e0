import { once } from '../../shared.ts'
import { PASSWORD_MASK } from '../users/schema.ts'
import type { NewRow } from './load.ts'

const HASHES_AT_ONCE = 4

/** Hashes the passwords of one import. */
export class PasswordHashes {
  readonly #hash: (password: string) => Promise<string>
  /** Nobody knows this password, so it can be the same for all masked ones. Hashing one for each user would take hours. */
  readonly #unknown = once(() => this.#hash(crypto.randomUUID()))

  constructor(hash: (password: string) => Promise<string>) {
    this.#hash = hash
  }

  /** Replaces passwords by their hashes, a few of them at once. */
  async replaceIn(rows: readonly NewRow[]): Promise<NewRow[]> {
    const hashed: NewRow[] = []
    for (let start = 0; start < rows.length; start += HASHES_AT_ONCE) {
      const some = rows.slice(start, start + HASHES_AT_ONCE)
      hashed.push(...(await Promise.all(some.map(row => this.#withHash(row)))))
    }
    return hashed
  }

  async #withHash({ password, ...row }: NewRow): Promise<NewRow> {
    if (typeof row.password_hash === 'string') return row
    if (password !== PASSWORD_MASK) return { ...row, password_hash: await this.#hash(String(password)) }
    return { ...row, password_hash: await this.#unknown() }
  }
}
