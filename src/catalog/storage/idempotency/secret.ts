/** Names this secret, so that the table can have others. */
export const SECRET_NAME = 'idempotency keys'

const SECRET_BYTES = 32

export function newFingerprintSecret(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(SECRET_BYTES))).toString('base64url')
}
