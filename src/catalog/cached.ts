import { type Awaitable, whenThere } from '../awaitable.ts'
import type { Change } from '../database/change.ts'
import type { StoredResource, TableName, Values } from './storage/resource.ts'
import { nestedObjects } from './storage/shape.ts'
import type { Found, IdPage, Read, ResourceTable } from './storage/store.ts'

/** A longer representation is read each time: it would take the place of many others. */
const REPRESENTATION_MAX_CHARACTERS = 65_536

/** What an entry takes beside its text, about; and the bytes that a character takes at most. */
const ENTRY_BYTES = 200
const CHARACTER_BYTES = 2

/** Changed things that are known one by one. When there are more, the cache starts again. */
const CHANGED_MAX = 100_000

/** Where the cache hears of changes; each database is one. */
export interface ChangeSource {
  /** `unknown` stands for commits that do not say what they changed. */
  onChange(listener: (changes: readonly Change[] | 'unknown') => void): void
  /**
   * What `look` finds at a moment at which the listener knows of every commit that was acknowledged before the call; `null`
   * if that cannot be told.
   */
  current<Result>(look: () => Result): Awaitable<Result | null>
}

interface Entry {
  readonly found: Found
  /** How many times the cache had heard of changes when this was read. */
  readonly version: number
  readonly bytes: number
}

/** When the rows of a table, or the sets of rows that refer to them, last changed. */
class Versions {
  readonly byId = new Map<number, number>()
  any = 0

  of(id: number): number {
    const version = this.byId.get(id) ?? 0
    return version > this.any ? version : this.any
  }
}

/** The entries of one resource, in two generations. */
interface Entries {
  recent: Map<number, Entry>
  older: Map<number, Entry>
}

/**
 * Representations in memory, at most `maxBytes` for all resources together.
 *
 * The rule: a representation is made of rows, and of sets of rows that refer to a row. Each of those has a version: the count
 * of changes when it last changed. An entry is good while none of its parts has a higher version than the entry. So a
 * write invalidates what shows it, and nothing else. A commit that does not say what it changed clears the cache.
 *
 * When the recent generation is full it becomes the older one, whose entries are dropped unless they are read again.
 */
export class RepresentationCache {
  readonly #source: ChangeSource
  readonly #generationBytes: number
  readonly #versions = new Map<string, Versions>()
  readonly #entries: Entries[] = []
  #recentBytes = 0
  #changedThings = 0
  #version = 0

  constructor(source: ChangeSource, maxBytes: number) {
    this.#source = source
    this.#generationBytes = maxBytes / 2
    source.onChange(changes => {
      if (changes === 'unknown') this.#clear()
      else this.#invalidate(changes)
    })
  }

  /** The same table, with its reads cached. */
  cached<Row extends Values>(resource: StoredResource<Row>, table: ResourceTable<Row>): ResourceTable<Row> {
    const entries: Entries = { recent: new Map(), older: new Map() }
    this.#entries.push(entries)
    const isGood = this.#goodness(resource)
    const keep = (found: Found) => this.#keep(entries, found)
    const get = (id: number) => this.#get(entries, id, isGood)
    return {
      ...table,
      find: id => {
        const read = () => table.find(id, keep)
        if (!get(id)) return read()
        return whenThere(
          this.#source.current(() => get(id)),
          found => found ?? read(),
        )
      },
      page: async (scope, range) => {
        let cached: (Found | undefined)[] = []
        const { ids } = await table.page(scope, range, seen => {
          cached = seen.map(get)
        })
        return { ids, cached }
      },
      read: async page => {
        const found: Found[] = []
        for (const one of page.cached) if (one) found.push(one)
        if (found.length === page.ids.length) return { found, count: found.length }
        if (found.length === 0) return table.read(page, keep)
        const missing = page.ids.filter((_, place) => !page.cached[place])
        return merged(page, missing, await table.read({ ids: missing, cached: [] }, keep))
      },
    }
  }

  /** Whether an entry of this resource is good: each of its parts is as old as the entry, or older. */
  #goodness<Row extends Values>(resource: StoredResource<Row>): (entry: Entry) => boolean {
    const row = this.#versionsOf(resource.table, 'row')
    const referring = resource.array && this.#versionsOf(resource.table, 'referring rows')
    const nested = nestedObjects(resource).map(({ table }) => this.#versionsOf(table, 'row'))
    return ({ version, found: { id, nestedIds } }) => {
      // Most of the time nothing at all has changed since it was read.
      if (version === this.#version) return true
      if (row.of(id) > version || (referring && referring.of(id) > version)) return false
      for (let place = 0; place < nested.length; place += 1) {
        if ((nested[place]?.of(nestedIds[place] ?? 0) ?? 0) > version) return false
      }
      return true
    }
  }

  #get({ recent, older }: Entries, id: number, isGood: (entry: Entry) => boolean): Found | undefined {
    const entry = recent.get(id)
    if (entry) return isGood(entry) ? entry.found : undefined
    const old = older.get(id)
    if (!old || !isGood(old)) return undefined
    this.#add(recent, old)
    return old.found
  }

  /** Called in the moment in which it was read, when all changes up to then are known. */
  #keep({ recent }: Entries, found: Found): void {
    const { json, rest } = found
    if (rest || json.length > REPRESENTATION_MAX_CHARACTERS) return
    this.#add(recent, { found, version: this.#version, bytes: ENTRY_BYTES + CHARACTER_BYTES * json.length })
  }

  #add(recent: Map<number, Entry>, entry: Entry): void {
    this.#recentBytes += entry.bytes - (recent.get(entry.found.id)?.bytes ?? 0)
    recent.set(entry.found.id, entry)
    if (this.#recentBytes < this.#generationBytes) return
    this.#recentBytes = 0
    for (const entries of this.#entries) {
      entries.older = entries.recent
      entries.recent = new Map()
    }
  }

  #invalidate(changes: readonly Change[]): void {
    if (changes.length === 0) return
    this.#version += 1
    for (const { table, id, part } of changes) {
      const versions = this.#versionsOf(table, part)
      if (id === 'any') versions.any = this.#version
      else {
        if (!versions.byId.has(id)) this.#changedThings += 1
        versions.byId.set(id, this.#version)
      }
    }
    if (this.#changedThings > CHANGED_MAX) this.#clear()
  }

  #clear(): void {
    this.#version += 1
    this.#recentBytes = 0
    this.#changedThings = 0
    for (const versions of this.#versions.values()) versions.byId.clear()
    for (const entries of this.#entries) {
      entries.recent = new Map()
      entries.older = new Map()
    }
  }

  #versionsOf(table: TableName | string, part: Change['part']): Versions {
    const name = `${table} ${part}`
    const known = this.#versions.get(name) ?? new Versions()
    this.#versions.set(name, known)
    return known
  }
}

/** The resources of a page, of which some were cached and the missing ones were read. */
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
