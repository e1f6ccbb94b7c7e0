import { whenThere } from '../../awaitable.ts'
import { BoundedCache } from '../../bounded-cache.ts'
import type { Change, ChangeSource } from '../../database/change.ts'
import { COMPRESSED_MIN_CHARACTERS } from '../compression.ts'
import type { StoredResource, Values } from '../storage/resource.ts'
import { nestedObjects } from '../storage/shape.ts'
import type { Found, IdPage, IdRange, Keep, Read, ResourceTable, Scope } from '../storage/store.ts'
import { changedParts, type ShownRows } from './changed-parts.ts'
import { ChangeVersions, type Versions } from './versions.ts'

/** Longer representations are not cached, because each would displace many others. */
const REPRESENTATION_MAX_CHARACTERS = 65_536

/** Approximate overhead of an entry. */
const ENTRY_BYTES = 300

/** Approximate overhead of a cached page of a list, and the size of each id in it. */
const PAGE_BYTES = 400
const PAGE_ID_BYTES = 24

/** A text is cached with its compressed forms, which together are at most as long. */
const COMPRESSED_TEXTS = 2

/** The runtime stores a text with one byte for each character unless it has one of these. */
const TWO_BYTE_CHARACTERS = /[^\0-\xff]/

/** Counters since the start. */
export interface CacheFigures {
  /** Resources that were served from memory, alone or in lists. */
  readonly hits: number
  /** Resources that were looked for in the database. */
  readonly misses: number
  /** Times that the whole cache was cleared, because a commit did not say what it changed. */
  readonly clears: number
}

/** The current size of the cache. */
export interface CacheContents {
  readonly bytes: number
  readonly maxBytes: number
  readonly entries: number
}

interface Entry {
  readonly found: Found
  /** Number of commits so far when it was read. */
  readonly version: number
  readonly bytes: number
}

interface Page {
  /** Number of commits so far when the ids were read. */
  readonly version: number
  /** Number of commits so far when all items were last found in the cache and current; −1 if some were not. */
  readonly goodAt: number
  readonly page: IdPage
  readonly bytes: number
}

/** Finds the entry of a resource if it is cached and current. */
type Get = (id: number) => Entry | undefined

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
  readonly #versions = new ChangeVersions()
  #hits = 0
  #misses = 0
  #clears = 0

  constructor(source: ChangeSource, resources: readonly ShownRows[], maxBytes: number) {
    this.#source = source
    this.#cache = new BoundedCache(maxBytes)
    const byTable = new Map(resources.map(resource => [resource.table, resource]))
    const partsOf = (change: Change) => {
      const resource = byTable.get(change.table)
      // Nothing is cached of a table that only a newer version of the program knows.
      return resource ? changedParts(resource, change) : []
    }
    source.onChange(changes => {
      if (changes !== 'unknown' && this.#versions.note(changes.flatMap(partsOf))) return
      this.#versions.clear()
      this.#cache.clear()
      this.#clears += 1
    })
  }

  get figures(): CacheFigures & CacheContents {
    return { hits: this.#hits, misses: this.#misses, clears: this.#clears, ...this.#cache.figures }
  }

  /** The same table, with its reads cached. */
  cached<Row extends Values>(resource: StoredResource<Row>, table: ResourceTable<Row>): ResourceTable<Row> {
    const entries = this.#cache.partition<number, Entry>()
    const isGood = this.#goodness(resource)
    const get: Get = id => {
      const entry = entries.get(id)
      return entry && isGood(entry) ? entry : undefined
    }
    const keep: Keep = () => {
      const version = this.#versions.latest
      return found => {
        const { json } = found
        if (json.length > REPRESENTATION_MAX_CHARACTERS) return
        const textBytes = (TWO_BYTE_CHARACTERS.test(json) ? 2 : 1) * json.length
        const bytes = ENTRY_BYTES + (json.length < COMPRESSED_MIN_CHARACTERS ? 1 : COMPRESSED_TEXTS) * textBytes
        entries.set(found.id, { found: { ...found, kept: {} }, version, bytes })
      }
    }
    return {
      ...table,
      find: id => {
        const read = () => {
          this.#misses += 1
          return table.find(id, keep)
        }
        const entry = get(id)
        if (!entry) return read()
        return whenThere(
          this.#source.current(() => isGood(entry)),
          isCurrent => {
            if (!isCurrent) return read()
            this.#hits += 1
            return entry.found
          },
        )
      },
      page: this.#pages(resource, table, get),
      read: page => {
        const found: Found[] = []
        for (const one of page.cached) if (one) found.push(one)
        this.#hits += found.length
        this.#misses += page.ids.length - found.length
        if (found.length === page.ids.length) return { found, count: found.length }
        if (found.length === 0) return table.read(page, keep)
        const missing = page.ids.filter((_, place) => !page.cached[place])
        return whenThere(table.read({ ids: missing, cached: [] }, keep), read => merged(page, missing, read))
      },
    }
  }

  /** Reads the ids of pages, and caches them until a row of that list is created or deleted. */
  #pages<Row extends Values>(
    resource: StoredResource<Row>,
    table: ResourceTable<Row>,
    get: Get,
  ): ResourceTable<Row>['page'] {
    const pages = this.#cache.partition<string, Page>()
    const setVersion = this.#setVersion(resource)
    const lookUp = (key: string, known: Page, scope: Scope<Row>): IdPage | null => {
      if (setVersion(scope) > known.version) return null
      const { latest } = this.#versions
      if (known.goodAt === latest) return known.page
      const { ids, cached } = known.page
      let itemBytes = 0
      let characters = 0
      let isComplete = true
      let isSame = known.goodAt !== -1
      const now = ids.map((id, place) => {
        const entry = get(id)
        itemBytes += entry?.bytes ?? 0
        characters += entry?.found.json.length ?? 0
        if (!entry) isComplete = false
        if (entry?.found !== cached[place]) isSame = false
        return entry?.found
      })
      const page = isSame ? known.page : { ids, cached: now, kept: {} }
      const textBytes = characters < COMPRESSED_MIN_CHARACTERS ? 0 : COMPRESSED_TEXTS * itemBytes
      const bytes = PAGE_BYTES + PAGE_ID_BYTES * ids.length + textBytes
      pages.set(key, { version: known.version, goodAt: isComplete ? latest : -1, page, bytes })
      return page
    }
    return (scope, range) => {
      const key = keyOf(scope, range)
      const read = () => {
        let seen: IdPage | undefined
        const read = table.page(scope, range, () => {
          const version = this.#versions.latest
          return ids => {
            seen = { ids, cached: ids.map(id => get(id)?.found) }
            const bytes = PAGE_BYTES + PAGE_ID_BYTES * ids.length
            pages.set(key, { version, goodAt: -1, page: seen, bytes })
          }
        })
        return whenThere(read, page => seen ?? page)
      }
      const known = pages.get(key)
      if (!known) return read()
      return whenThere(
        this.#source.current(() => lookUp(key, known, scope)),
        page => page ?? read(),
      )
    }
  }

  /** Makes the check whether an entry is current: none of its parts has changed since it was read. */
  #goodness<Row extends Values>(resource: StoredResource<Row>): (entry: Entry) => boolean {
    const row = this.#versions.of(resource.table, 'row')
    const referring = resource.array && this.#versions.of(resource.table, 'referring rows')
    const nested = nestedObjects(resource).map(({ table }) => this.#versions.of(table, 'row'))
    return ({ version, found: { id, nestedIds } }) => {
      // Usually nothing at all has changed since it was read.
      if (version === this.#versions.latest) return true
      if (row.of(id) > version || (referring && referring.of(id) > version)) return false
      for (let place = 0; place < nested.length; place += 1) {
        if ((nested[place]?.of(nestedIds[place] ?? 0) ?? 0) > version) return false
      }
      return true
    }
  }

  /** The version of the set of rows in a list, or of a larger set that contains it. */
  #setVersion<Row extends Values>({ table, references }: StoredResource<Row>): (scope: Scope<Row>) => number {
    const all = this.#versions.of(table, 'all rows')
    const referring: [column: keyof Row, versions: Versions][] = references.map(({ column, table: owners }) => [
      column,
      this.#versions.of(owners, 'referring rows'),
    ])
    return scope => {
      for (const [column, versions] of referring) {
        const id = scope[column]
        if (id !== undefined) return versions.of(id)
      }
      return all.any
    }
  }
}

function keyOf<Row extends Values>(scope: Scope<Row>, { afterId, skip, limit }: IdRange): string {
  let key = `${afterId} ${skip} ${limit}`
  for (const column in scope) key += ` ${column} ${scope[column]}`
  return key
}

/** Merges the cached resources of a page with those that were read. */
function merged({ ids, cached }: IdPage, missing: readonly number[], read: Read): Read {
  const firstLeftOut = missing[read.count]
  const count = firstLeftOut === undefined ? ids.length : ids.indexOf(firstLeftOut)
  const found: Found[] = []
  let next = 0
  for (let place = 0; place < count; place += 1) {
    const one = cached[place] ?? read.found[next]
    if (one === undefined || one.id !== ids[place]) continue
    found.push(one)
    if (one === read.found[next]) next += 1
  }
  return { found, count }
}
