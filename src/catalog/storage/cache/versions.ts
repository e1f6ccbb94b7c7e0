import type { ChangedPart, PartKind } from './changed-parts.ts'

/** Limit on rows and sets whose versions are known one by one. Beyond it, the cache is cleared. */
const CHANGED_MAX = 100_000

/** The versions of a table's rows, or of sets of rows. */
export class Versions {
  readonly byId = new Map<number, number>()
  any: number
  /** Of whichever changed last. */
  latest: number

  constructor(any: number) {
    this.any = any
    this.latest = any
  }

  of(id: number): number {
    return Math.max(this.byId.get(id) ?? 0, this.any)
  }
}

/** The version of everything that a write can change: the number of commits when it last changed. */
export class ChangeVersions {
  /** By table and kind of part. */
  readonly #versions = new Map<string, Map<PartKind, Versions>>()
  #changedThings = 0
  /** When all versions were last forgotten. */
  #clearedAt = 0
  /** Number of commits so far. */
  latest = 0

  of(table: string, part: PartKind): Versions {
    // A value that is asked for now may have been read before the others were forgotten.
    const first = () => new Versions(this.#clearedAt)
    return this.#versions.getOrInsertComputed(table, () => new Map()).getOrInsertComputed(part, first)
  }

  /** Whether one of the parts has changed since a number of commits. */
  haveChanged(parts: readonly ChangedPart[], since: number): boolean {
    return parts.some(({ table, part, id }) => {
      const versions = this.of(table, part)
      return (id === 'any' ? versions.latest : versions.of(id)) > since
    })
  }

  /** Records commits. Returns false if too much has changed to be recorded. */
  note(parts: readonly ChangedPart[]): boolean {
    if (parts.length === 0) return true
    this.latest += 1
    for (const { table, id, part } of parts) {
      const versions = this.of(table, part)
      versions.latest = this.latest
      if (id === 'any') versions.any = this.latest
      else {
        if (!versions.byId.has(id)) this.#changedThings += 1
        versions.byId.set(id, this.latest)
      }
    }
    return this.#changedThings <= CHANGED_MAX
  }

  /** Forgets all versions. The caller must drop every cached value too. */
  clear(): void {
    this.latest += 1
    this.#clearedAt = this.latest
    this.#changedThings = 0
    for (const kinds of this.#versions.values()) {
      for (const versions of kinds.values()) {
        versions.byId.clear()
        // Reads in progress began before this.
        versions.any = this.latest
        versions.latest = this.latest
      }
    }
  }
}
