import { type Awaitable, whenBothThere, whenThere } from '../../../awaitable.ts'
import type { Change, ChangeSource } from '../../../database/change.ts'
import { BoundedCache, type CachePartition } from '../../../limits/bounded-cache.ts'
import { BY_ID, NO_LIMIT } from '../query.ts'
import type { StoredResource, Values } from '../resource.ts'
import { showsReferring } from '../shape.ts'
import type { Found, IdLists, IdPage, ListPage, RowReads, ShownResources } from '../store.ts'
import { type ChangedPart, changedParts, dependsOn, type ShownRows } from './changed-parts.ts'
import { areAsSelected, type CachedResource, type Get, NONE_READ, ownersCheck, PartialPage } from './partial-page.ts'
import { sharing, type ValueKey } from './sharing.ts'
import { ChangeVersions } from './versions.ts'

/** Longer representations are not cached, because each would displace many others. */
const REPRESENTATION_MAX_CHARACTERS = 65_536

/** Approximate overhead of an entry. */
const ENTRY_BYTES = 300

/** Approximate overhead of a cached page of a list with its link, and the size of each id in it with its revision. */
const PAGE_BYTES = 800
const PAGE_ID_BYTES = 32

/** Approximate overhead of a cached number. */
const COUNT_BYTES = 400

/** A long page is joined to one text, and its compressed forms are at most as long. */
const DERIVED_FROM_PAGE = 2

/** How often a page is read if rows that it selects by their values change meanwhile. */
const PAGE_READS = 4

/** The runtime stores a text with one byte for each character unless it has one of these. */
const TWO_BYTE_CHARACTERS = /[^\0-\xff]/

export type CacheFigures = NonNullable<RepresentationCache['figures']>

interface Entry extends CachedResource {
  /** Number of commits so far when it was read. */
  readonly version: number
}

/** A page of a list with its resources, as far as they are known. */
interface Page {
  readonly page: IdPage
  /** Number of commits so far when the ids were read. */
  readonly version: number
  /** Everything that the ids depend on. */
  readonly dependencies: readonly ChangedPart[]
  /** The page with all its resources; `null` until they were all found in the cache. */
  readonly whole: ListPage | null
  /** Number of commits so far when `whole` was last found to be current. */
  readonly goodAt: number
  readonly bytes: number
}

interface ReadValue<Value> {
  readonly value: Value
  /** Without its key. */
  readonly bytes: number
}

interface CacheLimits {
  /** 0 switches the cache off. */
  readonly maxBytes: number
  /** The length of what others derive from a text of this length and keep as long, such as its compressed forms. */
  readonly derivedCharacters: (characters: number) => number
}

/** For a cache that is switched off: nothing is known to be current, so everything is read from the database. */
const NOTHING_KNOWN: ChangeSource = { onChange: () => {}, current: () => null }

/**
 * Caches representations and the ids of pages, at most `maxBytes` for all resources together.
 *
 * A representation is made of rows, and of sets of rows that refer to a row; a page is made of the set of rows that it lists.
 * Each of these has a version: the number of commits when it last changed. A cached value is current while none of its parts
 * has a higher version than itself. So a write invalidates exactly the values that show it. A commit that does not say what
 * it changed clears the cache.
 */
export class RepresentationCache {
  readonly #source: ChangeSource
  readonly #cache: BoundedCache
  readonly #derivedCharacters: CacheLimits['derivedCharacters']
  readonly #versions = new ChangeVersions()
  /** Whether the source tells of changes. Otherwise nothing that is kept would ever be known to be current. */
  #isTold = false
  /** Resources that were served from memory, alone or in lists. */
  #hits = 0
  /** Resources that were looked for in the database. */
  #misses = 0
  /** Times that the whole cache was cleared, because a commit did not say what it changed. */
  #clears = 0

  constructor(source: ChangeSource, resources: readonly ShownRows[], { maxBytes, derivedCharacters }: CacheLimits) {
    this.#source = maxBytes > 0 ? source : NOTHING_KNOWN
    this.#derivedCharacters = derivedCharacters
    this.#cache = new BoundedCache(maxBytes)
    const byTable = new Map<string, ShownRows>(resources.map(resource => [resource.table, resource]))
    const partsOf = (change: Change) => {
      const resource = byTable.get(change.table)
      // Nothing is cached of a table that only a newer version of the program knows.
      return resource ? changedParts(resource, change) : []
    }
    this.#source.onChange(changes => {
      this.#isTold = true
      if (changes !== 'unknown' && this.#versions.note(changes.flatMap(partsOf))) return
      this.#versions.clear()
      this.#cache.clear()
      this.#clears += 1
    })
  }

  /** Counts since the start, and the current size of the cache; `null` if it is switched off. */
  get figures() {
    if (this.#source === NOTHING_KNOWN) return null
    return { hits: this.#hits, misses: this.#misses, clears: this.#clears, ...this.#cache.figures }
  }

  /** Reads one kind of resource, with all of its members or some, by way of the cache. */
  reader<Row extends Values>(
    resource: StoredResource<Row>,
    lists: IdLists<Row>,
    rows: Pick<RowReads<Row>, 'read'>,
  ): Pick<ShownResources<Row>, 'find' | 'page' | 'count'> {
    const entries = this.#cache.partition<number, Entry>()
    const counts = this.values<number>()
    const isGood = this.#goodness(resource)
    const get = (id: number) => {
      const entry = entries.get(id)
      return entry && isGood(entry) ? entry : undefined
    }
    const read: RowReads<Row>['read'] = ids => {
      this.#misses += ids.length
      // A change during the read counts as a change after it.
      const version = this.#versions.latest
      return whenThere(rows.read(ids), read => {
        for (const found of read.found) this.#keep(entries, found, version)
        return read
      })
    }
    return {
      find: id => {
        const readOne = () => whenThere(read([id]), ({ found }) => found[0] ?? null)
        const entry = get(id)
        if (!entry) return readOne()
        return whenThere(
          this.#source.current(() => isGood(entry)),
          isCurrent => {
            if (!isCurrent) return readOne()
            this.#hits += 1
            return entry.found
          },
        )
      },
      page: this.#pages(resource, lists, { get, read }),
      count: (query, most) => {
        // So that all pages of a list share it, in whichever order.
        const whole = { ...query, order: BY_ID, from: { after: null, skip: 0 }, limit: NO_LIMIT }
        return counts({ key: `${most} ${JSON.stringify(whole)}`, dependencies: dependsOn(resource, whole) }, () =>
          whenThere(lists.count(whole, most), count => ({ value: count, bytes: COUNT_BYTES })),
        )
      },
    }
  }

  #keep(entries: CachePartition<number, Entry>, found: Found, version: number): void {
    const { json } = found
    if (json.length > REPRESENTATION_MAX_CHARACTERS || !this.#isTold) return
    const characterBytes = TWO_BYTE_CHARACTERS.test(json) ? 2 : 1
    const bytes = ENTRY_BYTES + characterBytes * (json.length + this.#derivedCharacters(json.length))
    entries.set(found.id, { found, version, bytes })
  }

  /** Reads pages, and caches their ids until these may have changed. */
  #pages<Row extends Values>(
    resource: StoredResource<Row>,
    lists: IdLists<Row>,
    { get, read }: { readonly get: Get; readonly read: RowReads<Row>['read'] },
  ): ShownResources<Row>['page'] {
    const pages = this.#cache.partition<string, Page>()
    const shared = sharing<IdPage>(this.#source, this.#versions)

    /** The page if it is current with all its resources, else what is known of it; `null` if its ids may have changed. */
    const lookUp = (key: string, known: Page): ListPage | PartialPage | null => {
      const { latest } = this.#versions
      if (known.whole && known.goodAt === latest) return known.whole
      if (this.#versions.haveChanged(known.dependencies, known.version)) return null
      const partial = new PartialPage(known.page, get)
      if (partial.missing.length > 0) return partial
      const whole = partial.isSameAs(known.whole) ? known.whole : partial.completed()
      const derivedBytes = this.#derivedCharacters(partial.characters) > 0 ? DERIVED_FROM_PAGE * partial.bytes : 0
      pages.set(key, { ...known, whole, goodAt: latest, bytes: pageBytes(key, known.page) + derivedBytes })
      return whole
    }

    return (query, ids) => {
      let readsLeft = PAGE_READS
      const complete = (partial: PartialPage): Awaitable<ListPage> => {
        this.#hits += partial.page.ids.length - partial.missing.length
        readsLeft -= 1
        return whenThere(partial.missing.length === 0 ? NONE_READ : read(partial.missing), missing => {
          const page = partial.completed(missing)
          const items = page.items.filter(ownersCheck(resource, query))
          return readsLeft === 0 || areAsSelected(partial.page, items) ? { ...page, items } : readPage()
        })
      }
      const key = JSON.stringify(query)
      const readPage = (ids?: IdPage): Awaitable<ListPage> => {
        const version = this.#versions.latest
        const dependencies = dependsOn(resource, query)
        // At the same time, so that cached resources of the page can be used.
        return whenBothThere(
          ids ?? shared({ key, dependencies }, () => lists.page(query)),
          () => this.#source.current(() => true),
          (page, isKnown) => {
            if (isKnown && !ids) {
              pages.set(key, { page, version, dependencies, whole: null, goodAt: -1, bytes: pageBytes(key, page) })
            }
            return complete(new PartialPage(page, isKnown ? get : () => undefined))
          },
        )
      }
      const known = ids ? undefined : pages.get(key)
      if (!known) return readPage(ids)
      return whenThere(
        this.#source.current(() => lookUp(key, known)),
        found => {
          if (!found) return readPage()
          if (found instanceof PartialPage) return complete(found)
          this.#hits += found.items.length
          return found
        },
      )
    }
  }

  /** Makes a function that reads values of one kind, and caches each until one of the parts changes that it depends on. */
  values<Value>(): (of: ValueKey, read: () => Awaitable<ReadValue<Value>>) => Awaitable<Value> {
    const values = this.#cache.partition<string, ReadValue<Value> & { readonly version: number }>()
    const shared = sharing<ReadValue<Value>>(this.#source, this.#versions)
    return (of, read) => {
      const { key, dependencies } = of
      const readAgain = () => {
        const version = this.#versions.latest
        return whenBothThere(
          shared(of, read),
          () => this.#source.current(() => true),
          (found, isKnown) => {
            const bytes = textBytes(key) + found.bytes
            if (isKnown) values.set(key, { ...found, bytes, version })
            return found.value
          },
        )
      }
      const known = values.get(key)
      if (!known) return readAgain()
      return whenThere(
        this.#source.current(() => !this.#versions.haveChanged(dependencies, known.version)),
        isCurrent => (isCurrent ? known.value : readAgain()),
      )
    }
  }

  /**
   * Makes the check whether an entry is current: none of its parts has changed since it was read. The rows that it references
   * are parts even if it does not show them, because when one is deleted, so is the row, or its reference.
   */
  #goodness<Row extends Values>(resource: StoredResource<Row>): (entry: Entry) => boolean {
    const row = this.#versions.of(resource.table, 'row')
    const referring = showsReferring(resource) ? this.#versions.of(resource.table, 'referring rows') : null
    const owners = resource.references.map(({ table }) => this.#versions.of(table, 'row'))
    return ({ version, found: { id, ownerIds } }) => {
      // Usually nothing at all has changed since it was read.
      if (version === this.#versions.latest) return true
      if (row.of(id) > version || (referring && referring.of(id) > version)) return false
      for (let place = 0; place < owners.length; place += 1) {
        if ((owners[place]?.of(ownerIds[place] ?? 0) ?? 0) > version) return false
      }
      return true
    }
  }
}

/** The key may be much longer than the page: clients choose what it selects. */
function pageBytes(key: string, { ids }: IdPage): number {
  return PAGE_BYTES + textBytes(key) + PAGE_ID_BYTES * ids.length
}

function textBytes(text: string): number {
  return (TWO_BYTE_CHARACTERS.test(text) ? 2 : 1) * text.length
}
