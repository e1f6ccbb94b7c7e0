import type { Awaitable } from '../../../awaitable.ts'

/** A key protects its request for this time. */
export const KEPT_MS = 86_400_000

/** The size of an entry besides its answer: its row, and its places in two indexes. */
export const ENTRY_BYTES = 256

/** Number of expired keys that are deleted at once, so that other writes are not delayed for long. */
export const DELETED_AT_ONCE = 256

/** Names this secret, so that the table can have others. */
export const SECRET_NAME = 'idempotency keys'

const SECRET_BYTES = 32

export function newFingerprintSecret(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(SECRET_BYTES))).toString('base64url')
}

/** A request with a key stores this with its answer, in the transaction that creates the resource. */
export interface Claim {
  /** A hash of the key. */
  readonly key: string
  /** Tells whether another request with the same key is the same request. */
  readonly fingerprint: string
  /** Called with the size of the entry when it is stored. */
  readonly stored: (bytes: number) => void
}

/** The size of the entry of an answer. */
export function entryBytes(answer: string): number {
  return ENTRY_BYTES + Buffer.byteLength(answer)
}

/** The answer to the first request with a key. */
export interface KeptAnswer {
  readonly fingerprint: string
  /** The body, in JSON. The status is always 200: errors are not kept. */
  readonly answer: string
  /** Of the created resource; `null` if many were created. */
  readonly revision: number | null
}

/** Another process has stored an answer with this key since it was looked up. The transaction must be rolled back. */
export class KeyTakenError extends Error {
  override name = 'KeyTakenError'
  readonly key: string
  readonly kept: KeptAnswer

  constructor(key: string, kept: KeptAnswer) {
    super('another request has the same idempotency key')
    this.key = key
    this.kept = kept
  }
}

/** The keys of one database. The code that creates the resources stores the answers. */
export interface KeyStore {
  /** The database's secret, which is made at the first call. */
  secret(): Promise<string>
  /** The answer is on the disk when this resolves. */
  find(key: string): Awaitable<KeptAnswer | null>
  /** The size of all unexpired entries. */
  bytes(): Promise<number>
  /** Deletes some. Resolves to their number; 0 if there are none left. */
  deleteExpired(): Promise<number>
}
