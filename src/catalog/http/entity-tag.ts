import { HttpError } from '../../server/errors.ts'
import type { Cursor } from '../storage/query.ts'
import type { ExpectedRevisions } from '../storage/revision.ts'

const TAG_PATTERN = String.raw`(W/)?"[!#-~\x80-\xff]*"`

/** The header `If-Match`: `*`, or entity tags and commas (RFC 9110, 5.6.1 and 8.8.3). */
export const IF_MATCH_PATTERN = String.raw`^(\*|[ \t,]*${TAG_PATTERN}([ \t]*,[ \t,]*${TAG_PATTERN})*[ \t,]*)$`
const IF_MATCH = new RegExp(IF_MATCH_PATTERN)
const TAG = /(W\/)?"([^"]*)"/g

/** The revision in one of our tags. */
const REVISION = /^([0-9a-z]{1,10})\./

/**
 * The value for the `ETag` of a body: the revision of the resource's own fields, except for lists, then a hash of the body and
 * of what its `Link` header leads to, which may change while the members that a client chose do not. Every node computes the
 * same value, also after a restart. 64 bits are enough to tell versions of one resource apart; the hash protects nothing.
 */
export function versionOf(
  body: string,
  leadsTo: string | Cursor | null | undefined,
  revision: number | undefined,
): string {
  const hash = Bun.hash(body, leadsTo === undefined ? 0 : Bun.hash(String(leadsTo))).toString(36)
  return revision === undefined ? hash : `${revision.toString(36)}.${hash}`
}

/** A strong `ETag`: another one for each coding, because the bytes differ (RFC 9110, 8.8.3). */
export function entityTag(version: string, coding = 'identity'): string {
  return coding === 'identity' ? `"${version}"` : `"${version}-${coding}"`
}

/** Whether the header `If-None-Match` names the tag. Weak tags count as if they were strong (RFC 9110, 8.8.3.2). */
export function matches(ifNoneMatch: string, tag: string): boolean {
  if (ifNoneMatch === tag || ifNoneMatch === '*') return true
  return ifNoneMatch.split(',').some(known => known.trim().replace(/^W\//, '') === tag)
}

/**
 * The revisions that the header `If-Match` expects. Weak tags never match (RFC 9110, 13.1.1), nor do tags that are not ours.
 * A header that is no list of tags is rejected with an `HttpError` 400, because ignoring it could lose an update.
 */
export function expectedRevisions({ headers }: Request): ExpectedRevisions {
  const ifMatch = headers.get('If-Match')
  if (ifMatch === null || ifMatch === '*') return null
  if (!IF_MATCH.test(ifMatch)) throw new HttpError(400, 'If-Match must be * or a list of entity tags in double quotes')
  return [...ifMatch.matchAll(TAG)].flatMap(([, weak, tag = '']) => {
    const revision = weak === undefined ? REVISION.exec(tag)?.[1] : undefined
    return revision === undefined ? [] : [Number.parseInt(revision, 36)]
  })
}
