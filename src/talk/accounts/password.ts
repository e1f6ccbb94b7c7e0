import { createHash, timingSafeEqual } from 'node:crypto'

/** The hexadecimal SHA-256 digest that is stored for a password. It has no salt, as the specification asks. */
export function passwordDigest(password: string): string {
  return createHash('sha256').update(password, 'utf8').digest('hex')
}

/** Compares digests in constant time. */
export function isSameDigest(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one, 'hex'), Buffer.from(other, 'hex'))
}
