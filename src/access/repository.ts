import type { Key } from './key.ts'

/** Limit on the number of keys, because every process holds all of them in memory. */
export const KEYS_MAX = 1_000

export interface StoredKey extends Key {
  readonly digest: string
  /** In milliseconds since 1970. */
  readonly createdAt: number
}

/** The storage of access keys. A write is on the disk when its promise resolves. */
export interface KeyRepository {
  /** Resolves to false, and changes nothing, if the name is taken or there are `KEYS_MAX` keys. */
  create(key: Omit<StoredKey, 'createdAt'>): Promise<boolean>
  /** All keys, by name. */
  list(): Promise<StoredKey[]>
  /** Resolves to false if there is no key with this name. */
  revoke(name: string): Promise<boolean>
}
