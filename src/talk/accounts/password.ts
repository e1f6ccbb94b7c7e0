import { createHash, timingSafeEqual } from 'node:crypto'

/** The hexadecimal SHA-256 digest of a password: all that is stored of it. It has no salt, as specified. */
export function passwordDigest(password: string): string {
  return createHash('sha256').update(password, 'utf8').digest('hex')
}

/** Compares digests in a time that tells nothing of where they differ. */
export function isSameDigest(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one, 'hex'), Buffer.from(other, 'hex'))
}
