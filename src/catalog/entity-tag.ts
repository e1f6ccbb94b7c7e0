/**
 * Hashes a body, and whether a `Link` header belongs to it, for its `ETag`. The hash is the same on every node and after a
 * restart. 64 bits are enough to tell versions of one resource apart; the hash protects nothing.
 */
export function hashOf(body: string, hasLink: boolean): string {
  return Bun.hash(body, hasLink ? 1 : 0).toString(36)
}

/** A strong `ETag`: another one for each coding, because the bytes differ (RFC 9110, 8.8.3). */
export function entityTag(hash: string, coding: string): string {
  return coding === 'identity' ? `"${hash}"` : `"${hash}-${coding}"`
}

/** Whether the header `If-None-Match` names the tag. Weak tags count as if they were strong (RFC 9110, 8.8.3.2). */
export function matches(ifNoneMatch: string, tag: string): boolean {
  if (ifNoneMatch === tag || ifNoneMatch === '*') return true
  return ifNoneMatch.split(',').some(known => known.trim().replace(/^W\//, '') === tag)
}
