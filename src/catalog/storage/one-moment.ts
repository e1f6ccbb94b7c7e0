import type { Found, IdPage } from './store.ts'

/** How often a page is read if rows that it selects by their values change meanwhile. */
export const PAGE_READS = 4

/** Whether rows that were read after their page was selected are as they were then, in its order. Some may be gone. */
export function areAsSelected({ ids, revisions }: IdPage, found: readonly Found[]): boolean {
  if (revisions === null) return true
  let place = 0
  return found.every(({ id, revision }) => {
    while (place < ids.length && ids[place] !== id) place += 1
    return revisions[place] === revision
  })
}
