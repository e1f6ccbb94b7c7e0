import type { Env } from 'markdown-it'

export type Definitions = NonNullable<Env['references']>
type Definition = Definitions[string]

/** The link labels that a text has looked up, each with the definition found then, if any. */
export type Lookups = ReadonlyMap<string, Definition | undefined>

/**
 * The link reference definitions of a growing text. Those of its finished part stay; those of its open part are read
 * again with each piece. The first definition of a label wins.
 */
export class LinkDefinitions {
  readonly #finished = new Map<string, Definition>()
  #open = new Map<string, Definition>()
  #lookups = new Map<string, Definition | undefined>()

  /** The definitions by label, as the parser expects them. */
  readonly definitions: Definitions = new Proxy<Definitions>(
    {},
    {
      get: (_, label) => {
        const found = this.#find(String(label))
        this.#lookups.set(String(label), found)
        return found
      },
      set: (_, label, definition) => {
        this.#open.set(String(label), definition)
        return true
      },
    },
  )

  /** Call before the open part is parsed again. */
  parseAgain(): void {
    this.#open = new Map()
  }

  /** Makes the open part's definition of this label final. */
  finish(label: string): void {
    const definition = this.#open.get(label)
    if (definition) this.#finished.set(label, definition)
  }

  /** The labels that were looked up since the last call. */
  takeLookups(): Lookups {
    const lookups = this.#lookups
    this.#lookups = new Map()
    return lookups
  }

  /** Whether a label has another definition now. */
  haveChanged(lookups: Lookups): boolean {
    for (const [label, before] of lookups) {
      const now = this.#find(label)
      if (before?.href !== now?.href || before?.title !== now?.title) return true
    }
    return false
  }

  #find(label: string): Definition | undefined {
    return this.#finished.get(label) ?? this.#open.get(label)
  }
}
