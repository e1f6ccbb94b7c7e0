/**
 * The strong `ETag` of a body and its `Link` header. It is the same on every node and after a restart. A hash of 64 bits is
 * enough to distinguish versions of one resource; it protects nothing.
 */
export function entityTag(body: string, hasLink: boolean): string {
  return `"${Bun.hash(body, hasLink ? 1 : 0).toString(36)}"`
}

/** Whether the header `If-None-Match` names the tag. Weak tags count as if they were strong (RFC 9110, 8.8.3.2). */
export function matches(ifNoneMatch: string, tag: string): boolean {
  if (ifNoneMatch === tag || ifNoneMatch === '*') return true
  return ifNoneMatch.split(',').some(known => known.trim().replace(/^W\//, '') === tag)
}
