import { setImmediate as turn } from 'node:timers/promises'
import type { MarkdownStream } from '../../markdown/stream.ts'
import { RENDERING_STEP_CHARACTERS } from './limits.ts'
import type { AnswerPace, Pace } from './pace.ts'
import type { Ending } from './repository.ts'

/** A rendering that takes longer gets a turn of the event loop for itself. */
const QUICK_MS = 1

/** What it takes to make an event of HTML and to hand it to the compression, for each listener: 3 ms for a million. */
const EVENT_MS_PER_CHARACTER = 3e-6

type Stream = Pick<MarkdownStream, 'append' | 'html'>

/** An answer at one moment: its whole text so far, as HTML, and how it ended if it did. */
export interface Rendering {
  readonly html: string
  readonly ending: Ending | null
}

/**
 * An answer as HTML while it grows. It is rendered once for all who listen; each takes the newest rendering at its own
 * pace, and never one that a newer one has replaced. Each piece is rendered by itself, unless that takes too much time:
 * then pieces are merged (see `Pace`).
 */
export class RenderedAnswer {
  readonly #wakeUps = new Set<() => void>()
  readonly #pace: Pace
  #answerPace: AnswerPace | null = null
  /** `null` once the answer has ended: what it remembers is no longer needed. */
  #stream: Stream | null
  #text = ''
  /** How much of the text the stream has, and how much of that is rendered. */
  #streamed = 0
  #rendered = 0
  /** What the last rendering took. */
  #costMs = 0
  #later: Timer | null = null
  #newest: Rendering = { html: '', ending: null }
  /** Counts renderings, so that each listener knows what it has seen. */
  #version = 0
  #isOver = false
  #failure: Error | null = null

  constructor(stream: Stream, pace: Pace) {
    this.#stream = stream
    this.#pace = pace
  }

  get text(): string {
    return this.#text
  }

  get newest(): Rendering {
    return this.#newest
  }

  get listeners(): number {
    return this.#wakeUps.size
  }

  /** Resolves when the piece is rendered, or is to be. A long one is taken in steps, and other work runs in between. */
  async append(piece: string): Promise<void> {
    if (this.#failure) throw this.#failure
    if (piece === '') return
    this.#text += piece
    this.#answerPace ??= this.#pace.answer()
    for (;;) {
      this.#feed(RENDERING_STEP_CHARACTERS)
      if (this.#streamed === this.#text.length) break
      this.#htmlSoFar()
      await turn()
    }
    if (!this.#isOver) await this.#renderInTime(this.#answerPace)
  }

  /** Nothing comes any more. The last rendering is that of the whole answer. */
  end(ending: Ending): void {
    this.#feed(Number.POSITIVE_INFINITY)
    this.#renderRest()
    this.#leave()
    this.#stream = null
    // An ordinary end shows nothing that was not shown before.
    if (ending.state !== 'finished') this.#version += 1
    this.#newest = { ...this.#newest, ending }
    this.#wakeAll()
  }

  /** Lets the listeners go, though the answer has not ended. */
  detach(): void {
    this.#leave()
    this.#wakeAll()
  }

  /**
   * The newest rendering, then each newer one, until the answer ends or `signal` says that the listener is gone. There is
   * no rendering of an answer of which nothing has come.
   */
  async *listen(signal: AbortSignal): AsyncGenerator<Rendering> {
    let news = Promise.withResolvers<void>()
    const wakeUp = () => news.resolve()
    this.#wakeUps.add(wakeUp)
    signal.addEventListener('abort', wakeUp)
    try {
      let seen = 0
      while (!signal.aborted) {
        if (this.#version > seen) {
          seen = this.#version
          yield this.#newest
        } else if (this.#isOver) {
          return
        } else {
          await news.promise
          news = Promise.withResolvers()
        }
      }
    } finally {
      signal.removeEventListener('abort', wakeUp)
      this.#wakeUps.delete(wakeUp)
    }
  }

  #feed(characters: number): void {
    const end = Math.min(this.#text.length, this.#streamed + characters)
    this.#stream?.append(this.#text.slice(this.#streamed, end))
    this.#streamed = end
  }

  /** Renders the piece by itself if there is time for it, else a little later, together with what comes until then. */
  async #renderInTime(pace: AnswerPace): Promise<void> {
    const { waitMs } = pace
    const isMuch = this.#streamed - this.#rendered >= RENDERING_STEP_CHARACTERS
    if (waitMs > 0 && !isMuch) {
      this.#later ??= setTimeout(() => void pace.turn().then(() => this.#renderRest()), waitMs)
      return
    }
    if (this.#costMs >= QUICK_MS) await pace.turn()
    if (!this.#isOver && this.#rendered < this.#streamed) this.#render()
  }

  /** Without a caller who could take an error: the next piece does. */
  #renderRest(): void {
    if (this.#isOver || this.#rendered === this.#streamed) return
    try {
      this.#render()
    } catch (error) {
      this.#failure = new Error('the answer cannot be rendered', { cause: error })
    }
  }

  #render(): void {
    if (this.#later) clearTimeout(this.#later)
    this.#later = null
    const html = this.#htmlSoFar()
    this.#answerPace?.spend(html.length * this.listeners * EVENT_MS_PER_CHARACTER)
    this.#newest = { html, ending: null }
    this.#rendered = this.#streamed
    this.#version += 1
    this.#wakeAll()
  }

  #htmlSoFar(): string {
    const begun = performance.now()
    const html = this.#stream?.html() ?? this.#newest.html
    this.#costMs = performance.now() - begun
    this.#answerPace?.spend(this.#costMs)
    return html
  }

  #leave(): void {
    if (this.#later) clearTimeout(this.#later)
    if (!this.#isOver) this.#answerPace?.[Symbol.dispose]()
    this.#isOver = true
  }

  #wakeAll(): void {
    for (const wakeUp of this.#wakeUps) wakeUp()
  }
}
