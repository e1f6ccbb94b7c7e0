/**
 * Each update gives a row another revision, so that a client can tell whether it has changed. It is random rather than a
 * count: after a backup is restored, or if another row gets the id of a deleted one, a count would repeat itself.
 */
export const REVISION_BITS = 48

/** The revision of a row that was never updated. */
export const FIRST_REVISION = 0

/** The revisions of which a row must have one to be written; `null` if any will do. */
export type ExpectedRevisions = readonly number[] | null

export function newRevision(): number {
  return Math.floor(Math.random() * 2 ** REVISION_BITS)
}

export function isExpected(expected: ExpectedRevisions, revision: number): boolean {
  return expected === null || expected.includes(revision)
}
