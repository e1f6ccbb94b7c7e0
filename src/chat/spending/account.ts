/** The payer of an answer: an access key or, without one, a network. */
export interface Account {
  /** The stored name. */
  readonly id: string
  readonly kind: 'network' | 'key'
}

/** `address` is a result of `addressKey`. */
export function accountOf(address: string, keyName: string | null): Account {
  return keyName === null ? { id: address, kind: 'network' } : { id: `key:${keyName}`, kind: 'key' }
}
