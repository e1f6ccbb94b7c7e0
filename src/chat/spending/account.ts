/** Who pays for an answer: an access key or, without one, a network. */
export interface Account {
  /** How it is stored. */
  readonly id: string
  readonly kind: 'network' | 'key'
}

/** `address` is that of `addressKey`. */
export function accountOf(address: string, keyName: string | null): Account {
  return keyName === null ? { id: address, kind: 'network' } : { id: `key:${keyName}`, kind: 'key' }
}
