import type { Markdown } from '../../markdown/renderer.ts'
import { Pace } from './pace.ts'
import { RenderedAnswer } from './rendered-answer.ts'
import type { Ending } from './repository.ts'

/** Size limit of the cached HTML, in UTF-16 code units. */
const RENDERED_MAX_CHARACTERS = 8_388_608

/** Counted for each cached answer in addition to its HTML, to limit the number of short ones. */
const ENTRY_CHARACTERS = 1_024

/** Renders answers, and caches those that have ended. */
export class RenderedAnswers {
  /** A map keeps its keys in the order of insertion: the least recently used one is first. */
  readonly #cached = new Map<string, RenderedAnswer>()
  readonly #rendering = new Map<string, Promise<RenderedAnswer>>()
  readonly #markdown: Markdown
  readonly #pace = new Pace()
  #characters = 0

  constructor(markdown: Markdown) {
    this.#markdown = markdown
  }

  /** Starts a growing answer. */
  begin(): RenderedAnswer {
    return new RenderedAnswer(this.#markdown.stream(), this.#pace)
  }

  /** Renders an answer that has ended, in steps with other work in between. */
  async whole(text: string, ending: Ending): Promise<RenderedAnswer> {
    const answer = this.begin()
    await answer.append(text)
    answer.end(ending)
    return answer
  }

  /** The answer, if it is in the cache. */
  cached(reqId: string): RenderedAnswer | null {
    const answer = this.#cached.get(reqId)
    if (!answer) return null
    this.#cached.delete(reqId)
    this.#cached.set(reqId, answer)
    return answer
  }

  /** Renders and caches an answer that has ended, once for all concurrent callers. */
  async cache(reqId: string, text: string, ending: Ending): Promise<RenderedAnswer> {
    const known = this.#rendering.get(reqId)
    if (known) return known
    const rendering = this.whole(text, ending)
    this.#rendering.set(reqId, rendering)
    try {
      const answer = await rendering
      this.#add(reqId, answer)
      return answer
    } finally {
      this.#rendering.delete(reqId)
    }
  }

  #add(reqId: string, answer: RenderedAnswer): void {
    this.#remove(reqId)
    this.#cached.set(reqId, answer)
    this.#characters += weight(answer)
    for (const oldest of this.#cached.keys()) {
      if (this.#characters <= RENDERED_MAX_CHARACTERS) break
      this.#remove(oldest)
    }
  }

  #remove(reqId: string): void {
    const answer = this.#cached.get(reqId)
    if (!answer) return
    this.#cached.delete(reqId)
    this.#characters -= weight(answer)
  }
}

function weight(answer: RenderedAnswer): number {
  return answer.newest.html.length + ENTRY_CHARACTERS
}
