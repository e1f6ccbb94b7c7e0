import type { Markdown } from '../../markdown/renderer.ts'
import { Pace } from './pace.ts'
import { RenderedAnswer } from './rendered-answer.ts'
import type { Ending } from './repository.ts'

/** HTML that is kept in memory, in UTF-16 code units. The least recently used answers go first. */
const RENDERED_MAX_CHARACTERS = 8_388_608

/** The weight of an answer beside its HTML, so that short ones are bounded in number. */
const ENTRY_CHARACTERS = 1_024

/** Renders answers, and caches those that have ended. */
export class RenderedAnswers {
  /** The least recently used one first. */
  readonly #cached = new Map<string, RenderedAnswer>()
  readonly #rendering = new Map<string, Promise<RenderedAnswer>>()
  readonly #markdown: Markdown
  readonly #pace = new Pace()
  #characters = 0

  constructor(markdown: Markdown) {
    this.#markdown = markdown
  }

  /** Begins an answer that is to grow. */
  begin(): RenderedAnswer {
    return new RenderedAnswer(this.#markdown.stream(), this.#pace)
  }

  /** Renders an answer that has ended; other work runs in between. */
  async whole(text: string, ending: Ending): Promise<RenderedAnswer> {
    const answer = this.begin()
    await answer.append(text)
    answer.end(ending)
    return answer
  }

  /** An answer that has ended, if it is in the cache. */
  cached(reqId: string): RenderedAnswer | null {
    const answer = this.#cached.get(reqId)
    if (!answer) return null
    this.#cached.delete(reqId)
    this.#cached.set(reqId, answer)
    return answer
  }

  /** Renders an answer that has ended, once for all who ask at the same time, and caches it. */
  async cache(reqId: string, text: string, ending: Ending): Promise<RenderedAnswer> {
    const known = this.#rendering.get(reqId)
    if (known) return known
    const rendering = this.whole(text, ending)
    this.#rendering.set(reqId, rendering)
    try {
      const answer = await rendering
      this.#keep(reqId, answer)
      return answer
    } finally {
      this.#rendering.delete(reqId)
    }
  }

  #keep(reqId: string, answer: RenderedAnswer): void {
    this.#forget(reqId)
    this.#cached.set(reqId, answer)
    this.#characters += weight(answer)
    for (const oldest of this.#cached.keys()) {
      if (this.#characters <= RENDERED_MAX_CHARACTERS) break
      this.#forget(oldest)
    }
  }

  #forget(reqId: string): void {
    const answer = this.#cached.get(reqId)
    if (!answer) return
    this.#cached.delete(reqId)
    this.#characters -= weight(answer)
  }
}

function weight(answer: RenderedAnswer): number {
  return answer.newest.html.length + ENTRY_CHARACTERS
}
