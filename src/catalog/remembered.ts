import type { Representation } from './representation.ts'

/** Characters of one resource's representations that are kept: at most two generations of this size. */
const GENERATION_CHARACTERS = 8_388_608

/** A heavier representation is read anew each time: it would drive out many others. */
const REPRESENTATION_CHARACTERS = 65_536

/**
 * Representations by id that were read since the database last changed. Any change, whoever made it, empties the memory:
 * what a resource embeds belongs to others, and nothing that was acknowledged may be missed.
 *
 * When the recent generation is full it becomes the older one, whose entries are dropped unless they are asked for.
 */
export class Remembered {
  #recent = new Map<number, Representation>()
  #older = new Map<number, Representation>()
  #recentCharacters = 0

  constructor(changes: { onChange(listener: () => void): void }) {
    changes.onChange(() => this.#forget())
  }

  get(id: number): Representation | undefined {
    const recent = this.#recent.get(id)
    if (recent) return recent
    const older = this.#older.get(id)
    if (older) this.keep(id, older)
    return older
  }

  /** All of them, or nothing when one is missing. */
  getAll(ids: readonly number[]): { readonly id: number; readonly json: string }[] | undefined {
    const found = []
    for (const id of ids) {
      const representation = this.get(id)
      if (!representation) return undefined
      found.push({ id, json: representation.json })
    }
    return found
  }

  /** Gives back what it was given; what is not there is not kept. */
  keep(id: number, representation: Representation | null): Representation | null {
    const characters = representation?.json.length ?? 0
    if (!representation || characters > REPRESENTATION_CHARACTERS || this.#recent.has(id)) return representation
    this.#recent.set(id, representation)
    this.#recentCharacters += characters
    if (this.#recentCharacters >= GENERATION_CHARACTERS) {
      this.#older = this.#recent
      this.#recent = new Map()
      this.#recentCharacters = 0
    }
    return representation
  }

  isEmpty(): boolean {
    return this.#recent.size === 0 && this.#older.size === 0
  }

  #forget(): void {
    if (this.isEmpty()) return
    this.#recent = new Map()
    this.#older = new Map()
    this.#recentCharacters = 0
  }
}
