import type { Env } from 'markdown-it'

type Definitions = NonNullable<Env['references']>
type Definition = Definitions[string]

/**
 * The link reference definitions of a text that grows: those in its finished part, which stay, and those in its open
 * part, which are read again with each piece. The first definition of a label is the one that counts.
 */
export class References {
  readonly #finished = new Map<string, Definition>()
  #open = new Map<string, Definition>()
  /** The definitions that were finished since the last rendering, and those that were open then. */
  #newlyFinished = new Set<string>()
  #before = new Map<string, Definition>()
  #asked = new Set<string>()

  /** For the parser: looks like an object of definitions by label. */
  readonly definitions: Definitions = new Proxy<Definitions>(
    {},
    {
      get: (_, label) => (typeof label === 'string' ? this.#find(label) : undefined),
      set: (_, label, definition) => {
        if (typeof label === 'string') this.#open.set(label, definition)
        return true
      },
    },
  )

  /** The open part is about to be parsed again. */
  parseAgain(): void {
    this.#open = new Map()
  }

  /** The definition that the open part gives for this label is final. */
  finish(label: string): void {
    const definition = this.#open.get(label)
    if (!definition) return
    this.#finished.set(label, definition)
    this.#newlyFinished.add(label)
  }

  /** The labels whose definition came, went or changed since the last call. */
  takeChanged(): string[] {
    const before = this.#before
    if (this.#open.size === 0 && before.size === 0 && this.#newlyFinished.size === 0) return []
    const labels = new Set([...before.keys(), ...this.#open.keys(), ...this.#newlyFinished])
    this.#before = this.#open
    this.#newlyFinished = new Set()
    return [...labels].filter(label => {
      const old = before.get(label)
      const now = this.#finished.get(label) ?? this.#open.get(label)
      return old?.href !== now?.href || old?.title !== now?.title
    })
  }

  /** The labels that were looked up since the last call, whether defined or not. */
  takeAsked(): Set<string> {
    const asked = this.#asked
    this.#asked = new Set()
    return asked
  }

  #find(label: string): Definition | undefined {
    this.#asked.add(label)
    return this.#finished.get(label) ?? this.#open.get(label)
  }
}
