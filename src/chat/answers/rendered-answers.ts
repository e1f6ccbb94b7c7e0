import { isDeepStrictEqual } from 'node:util'
import { BoundedCache } from '../../limits/bounded-cache.ts'
import type { Markdown } from '../../markdown/renderer.ts'
import { Pace } from './pace.ts'
import { RenderedAnswer } from './rendered-answer.ts'
import type { Ending } from './repository.ts'

/** Size limit of the cached answers. */
export const RENDERED_MAX_BYTES = 16_777_216

/** Approximate overhead of a cached answer, to limit the number of short ones, and the most that a character takes. */
const ENTRY_BYTES = 2_048
const CHARACTER_BYTES = 2

/** Renders answers, and caches those that have ended. */
export class RenderedAnswers {
  readonly #cached = new BoundedCache(RENDERED_MAX_BYTES).partition<string, { answer: RenderedAnswer; bytes: number }>()
  readonly #rendering = new Map<string, Promise<RenderedAnswer>>()
  readonly #markdown: Markdown
  readonly #pace = new Pace()

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

  /** An answer that has ended, rendered unless it is in the cache, and once for all concurrent callers. */
  async cache(reqId: string, text: string, ending: Ending): Promise<RenderedAnswer> {
    const concurrent = this.#rendering.get(reqId)
    const known = concurrent ? await concurrent : this.#cached.get(reqId)?.answer
    // The id of a prompt that is forgotten may be used again.
    if (known?.text === text && isDeepStrictEqual(known.newest.ending, ending)) return known
    const rendering = this.whole(text, ending)
    this.#rendering.set(reqId, rendering)
    try {
      const answer = await rendering
      // The event that listeners get has the HTML once more.
      const characters = answer.text.length + 2 * answer.newest.html.length
      this.#cached.set(reqId, { answer, bytes: ENTRY_BYTES + CHARACTER_BYTES * characters })
      return answer
    } finally {
      this.#rendering.delete(reqId)
    }
  }
}
