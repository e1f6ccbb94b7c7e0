import type { Env } from 'markdown-it'

type Definitions = NonNullable<Env['references']>
type Definition = Definitions[string]

/**
 * The link reference definitions of a text that grows: those in its finished part, which stay, and those in its open
 * part, which are read anew with each piece. The first definition of a label is the one that counts.
 */
export class References {
  readonly #finished = new Map<string, Definition>()
  #open = new Map<string, Definition>()
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

  /** The open part is about to be read anew. */
  readAnew(): void {
    this.#before = this.#open
    this.#open = new Map()
  }

  /** The labels whose definition in the open part came, went or changed with the last reading. */
  changed(): string[] {
    if (this.#open.size === 0 && this.#before.size === 0) return []
    const labels = new Set([...this.#open.keys(), ...this.#before.keys()])
    return [...labels].filter(label => {
      if (this.#finished.has(label)) return false
      const before = this.#before.get(label)
      const now = this.#open.get(label)
      return before?.href !== now?.href || before?.title !== now?.title
    })
  }

  /** The definition that the open part gives for this label is final. */
  finish(label: string): void {
    const definition = this.#open.get(label)
    if (definition && !this.#finished.has(label)) this.#finished.set(label, definition)
  }

  /** The labels that were looked for since the last call, whether defined or not. */
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
