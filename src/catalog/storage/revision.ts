/**
 * A new row has a random revision, and each update gives it another one, so that a client can tell whether it has changed. A
 * count would repeat itself after a backup is restored, and if another row gets the id of a deleted one.
 */
export const REVISION_BITS = 48

/** Revisions that `If-Match` accepts; `null` accepts any. */
export type ExpectedRevisions = readonly number[] | null

export function newRevision(): number {
  return Math.floor(Math.random() * 2 ** REVISION_BITS)
}

export function isExpected(expected: ExpectedRevisions, revision: number): boolean {
  return expected === null || expected.includes(revision)
}
