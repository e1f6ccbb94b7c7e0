import type { Env } from 'markdown-it'

export type Definitions = NonNullable<Env['references']>
type Definition = Definitions[string]

/**
 * The link reference definitions of a growing text. Those of its finished part stay; those of its open part are read
 * again with each piece. The first definition of a label wins.
 */
export class LinkDefinitions {
  readonly #finished = new Map<string, Definition>()
  #open = new Map<string, Definition>()
  /** Labels finished since the last rendering, and the definitions that were open then. */
  #newlyFinished = new Set<string>()
  #before = new Map<string, Definition>()
  #lookups = new Set<string>()

  /** The definitions by label, as the parser expects them. */
  readonly definitions: Definitions = new Proxy<Definitions>(
    {},
    {
      get: (_, label) => this.#find(String(label)),
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
    if (!definition) return
    this.#finished.set(label, definition)
    this.#newlyFinished.add(label)
  }

  /** The labels whose definition appeared, disappeared or changed since the last call. */
  takeChanged(): string[] {
    const before = this.#before
    const labels = new Set([...before.keys(), ...this.#open.keys(), ...this.#newlyFinished])
    this.#before = this.#open
    this.#newlyFinished = new Set()
    return [...labels].filter(label => {
      const old = before.get(label)
      const now = this.#finished.get(label) ?? this.#open.get(label)
      return old?.href !== now?.href || old?.title !== now?.title
    })
  }

  /** The labels looked up since the last call, defined or not. */
  takeLookups(): Set<string> {
    const lookups = this.#lookups
    this.#lookups = new Set()
    return lookups
  }

  #find(label: string): Definition | undefined {
    this.#lookups.add(label)
    return this.#finished.get(label) ?? this.#open.get(label)
  }
}
