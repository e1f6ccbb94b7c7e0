import type { Markdown } from '../../markdown/renderer.ts'
import { Rendition } from './rendition.ts'
import type { Ending } from './repository.ts'

/** HTML that is kept in memory, in UTF-16 code units; the answers that were not asked for the longest go first. */
const RENDERED_MAX_CHARACTERS = 8_388_608

/** What an answer weighs beside its HTML, so that short ones are bounded in number. */
const ENTRY_CHARACTERS = 1_024

/** Answers that have ended, as they are shown: rendered when somebody asks, and remembered for the next one. */
export class RenderedAnswers {
  /** The least used one first. */
  readonly #remembered = new Map<string, Rendition>()
  readonly #markdown: Markdown
  #characters = 0

  constructor(markdown: Markdown) {
    this.#markdown = markdown
  }

  get(reqId: string): Rendition | null {
    const rendition = this.#remembered.get(reqId)
    if (!rendition) return null
    this.#remembered.delete(reqId)
    this.#remembered.set(reqId, rendition)
    return rendition
  }

  keep(reqId: string, text: string, ending: Ending): Rendition {
    const rendition = Rendition.of(text, ending, this.#markdown)
    this.#forget(reqId)
    this.#remembered.set(reqId, rendition)
    this.#characters += weight(rendition)
    for (const oldest of this.#remembered.keys()) {
      if (this.#characters <= RENDERED_MAX_CHARACTERS) break
      this.#forget(oldest)
    }
    return rendition
  }

  #forget(reqId: string): void {
    const rendition = this.#remembered.get(reqId)
    if (!rendition) return
    this.#remembered.delete(reqId)
    this.#characters -= weight(rendition)
  }
}

function weight(rendition: Rendition): number {
  return rendition.shown.html.length + ENTRY_CHARACTERS
}
