import type { Change } from '../../database/change.ts'

/** Changed things that are known one by one. When there are more, the cache starts again. */
const CHANGED_MAX = 100_000

/** When rows of a table, or sets of rows, last changed. */
export class Versions {
  readonly byId = new Map<number, number>()
  any = 0

  of(id: number): number {
    const version = this.byId.get(id) ?? 0
    return version > this.any ? version : this.any
  }
}

/** The version of each thing that a write can change: the count of commits when it last changed. */
export class ChangeVersions {
  readonly #versions = new Map<string, Versions>()
  #changedThings = 0
  /** The count of commits so far. */
  latest = 0

  of(table: string, part: Change['part']): Versions {
    const name = `${table} ${part}`
    const known = this.#versions.get(name) ?? new Versions()
    this.#versions.set(name, known)
    return known
  }

  /** Notes a commit. Returns false if so much has changed that it is no longer known what. */
  note(changes: readonly Change[]): boolean {
    if (changes.length === 0) return true
    this.latest += 1
    for (const { table, id, part } of changes) {
      const versions = this.of(table, part)
      if (id === 'any') versions.any = this.latest
      else {
        if (!versions.byId.has(id)) this.#changedThings += 1
        versions.byId.set(id, this.latest)
      }
    }
    return this.#changedThings <= CHANGED_MAX
  }

  /** Everything that was read before must be forgotten, so the versions may be, too. */
  clear(): void {
    this.latest += 1
    this.#changedThings = 0
    for (const versions of this.#versions.values()) versions.byId.clear()
  }
}
