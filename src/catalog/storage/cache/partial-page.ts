import type { ListQuery } from '../query.ts'
import type { StoredResource, Values } from '../resource.ts'
import type { Found, IdPage, ListPage, Read } from '../store.ts'

/** A resource in the cache, with its approximate size there. */
export interface CachedResource {
  readonly found: Found
  readonly bytes: number
}

/** Finds a resource if it is cached and current. */
export type Get = (id: number) => CachedResource | undefined

interface FoundPage extends ListPage {
  readonly items: readonly Found[]
}

export const NONE_READ: Read = { found: [], count: 0 }

/** A page whose resources have been looked for in the cache. */
export class PartialPage {
  readonly page: IdPage
  /** For each id, the resource if it is cached and current. */
  readonly #cached: (Found | undefined)[] = []
  /** The ids of the others. */
  readonly missing: number[] = []
  /** The approximate size of the cached resources. */
  bytes = 0
  characters = 0

  constructor(page: IdPage, get: Get) {
    this.page = page
    for (const id of page.ids) {
      const entry = get(id)
      if (!entry) this.missing.push(id)
      this.#cached.push(entry?.found)
      this.bytes += entry?.bytes ?? 0
      this.characters += entry?.found.json.length ?? 0
    }
  }

  isSameAs(whole: ListPage | null): whole is ListPage {
    return whole !== null && this.#cached.every((found, place) => found === whole.items[place])
  }

  /** The page with the missing resources, which were read in its order. It ends before the first one that was not looked up. */
  completed(read = NONE_READ): FoundPage {
    const { ids, last, more } = this.page
    const items: Found[] = []
    let lookedUp = 0
    let used = 0
    for (const [place, cached] of this.#cached.entries()) {
      if (cached) {
        items.push(cached)
        continue
      }
      if (lookedUp === read.count) return { items, last, more, isWhole: false }
      lookedUp += 1
      const found = read.found[used]
      // Deleted meanwhile.
      if (!found || found.id !== ids[place]) continue
      items.push(found)
      used += 1
    }
    return { items, last, more, isWhole: true }
  }
}

/** Whether rows that were read after their page was selected are as they were then, in its order. Some may be gone. */
export function areAsSelected({ ids, revisions }: IdPage, found: readonly Found[]): boolean {
  if (revisions === null) return true
  let place = 0
  return found.every(({ id, revision }) => {
    while (place < ids.length && ids[place] !== id) place += 1
    return revisions[place] === revision
  })
}

/**
 * Makes the check whether an item references the rows that its list is about. Since its id was read, a review may have got another
 * product, or a product may have lost its category.
 */
export function ownersCheck<Row extends Values>({ references }: StoredResource<Row>, { where }: ListQuery<Row>) {
  const owners = references.flatMap(({ column }, place) =>
    where.filter(condition => condition.column === column).map(condition => ({ place, condition })),
  )
  return ({ ownerIds }: Found): boolean =>
    owners.every(({ place, condition: { is, value } }) => {
      const id = ownerIds[place] || null
      return is === 'in' ? value.includes(id) : value === id
    })
}
