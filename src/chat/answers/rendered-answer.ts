import type { MarkdownStream } from '../../markdown/stream.ts'
import type { Pace } from './pace.ts'
import type { Ending } from './repository.ts'

/** Text rendered in one step, in UTF-16 code units. It bounds the time of a step if all of it is highlighted. */
const RENDERING_STEP_CHARACTERS = 2_048

/** After a step that took longer, the next ones are shorter, down to this length: some lines take a tenth of a second to highlight. */
const RENDERING_STEP_MS = 100
const SHORT_STEP_CHARACTERS = 256

/** A rendering that takes longer than this gets a turn of the event loop of its own. */
const QUICK_MS = 1

/** The cost per listener of making an event from HTML and passing it to the compression: 3 ms for a million characters. */
const EVENT_MS_PER_CHARACTER = 3e-6

type Stream = Pick<MarkdownStream, 'append' | 'html'>

/** The HTML of an answer's whole text so far, and its ending if it has ended. */
export interface Rendering {
  readonly html: string
  readonly ending: Ending | null
}

/**
 * A growing answer as HTML, rendered once for all its listeners. Each listener takes the newest rendering when it is ready,
 * and skips those that were replaced in the meantime. Each piece is rendered by itself unless that takes too much time; then
 * pieces are merged (see `Pace`).
 */
export class RenderedAnswer {
  readonly #wakeUps = new Set<() => void>()
  readonly #pace: Pace
  /** `null` once nothing more comes, to free its memory. */
  #stream: Stream | null
  #text = ''
  /** The length of the text passed to the stream, and of the text rendered so far. */
  #streamed = 0
  #rendered = 0
  /** The duration of the last rendering, and the length of the next step. */
  #costMs = 0
  #step = RENDERING_STEP_CHARACTERS
  #cancelLater: (() => void) | null = null
  #newest: Rendering = { html: '', ending: null }
  /** Counts renderings, so that each listener knows which one it has seen. */
  #version = 0
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

  /** Resolves when the piece is rendered or scheduled. A long piece is rendered in steps, and other work runs in between. */
  async append(piece: string): Promise<void> {
    if (this.#failure) throw this.#failure
    if (piece === '') return
    this.#text += piece
    for (;;) {
      this.#feed(this.#step)
      if (this.#streamed === this.#text.length) break
      this.#htmlSoFar()
      await this.#pace.turn()
    }
    await this.#renderInTime(this.#pace.waitMs)
  }

  /** Ends the answer. The last rendering has the whole text. */
  end(ending: Ending): void {
    this.#feed(Number.POSITIVE_INFINITY)
    this.#renderRest()
    // A finished answer looks the same as before.
    if (ending.state !== 'finished') this.#version += 1
    this.#newest = { ...this.#newest, ending }
    this.detach()
  }

  /** Disconnects the listeners once they have the newest rendering. Nothing more is appended. */
  detach(): void {
    this.#cancelLater?.()
    this.#stream = null
    this.#wakeAll()
  }

  /**
   * Yields the newest rendering, then each newer one, until the answer ends or the signal is aborted. An empty answer has no
   * rendering.
   */
  async *listen(signal: AbortSignal): AsyncGenerator<Rendering> {
    let change = Promise.withResolvers<void>()
    const wakeUp = () => change.resolve()
    this.#wakeUps.add(wakeUp)
    signal.addEventListener('abort', wakeUp)
    try {
      let seen = 0
      while (!signal.aborted) {
        if (this.#version > seen) {
          seen = this.#version
          yield this.#newest
        } else if (this.#stream === null) {
          return
        } else {
          await change.promise
          change = Promise.withResolvers()
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

  /** Renders the piece at once if there is time, otherwise a little later, together with the pieces until then. */
  async #renderInTime(waitMs: number): Promise<void> {
    const isMuch = this.#streamed - this.#rendered >= this.#step
    if (waitMs > 0 && !isMuch) {
      this.#cancelLater ??= this.#pace.clock.after(waitMs, () => void this.#pace.turn().then(() => this.#renderRest()))
      return
    }
    if (this.#costMs >= QUICK_MS) await this.#pace.turn()
    if (this.#rendered < this.#streamed) this.#render()
  }

  /** There is no caller to reject to, so the next `append` throws the error. */
  #renderRest(): void {
    if (this.#rendered === this.#streamed) return
    try {
      this.#render()
    } catch (error) {
      this.#failure = new Error('the answer cannot be rendered', { cause: error })
    }
  }

  #render(): void {
    this.#cancelLater?.()
    this.#cancelLater = null
    const html = this.#htmlSoFar()
    this.#pace.spend(html.length * this.listeners * EVENT_MS_PER_CHARACTER)
    this.#newest = { html, ending: null }
    this.#rendered = this.#streamed
    this.#version += 1
    this.#wakeAll()
  }

  #htmlSoFar(): string {
    const { clock } = this.#pace
    const begun = clock.now()
    const html = this.#stream?.html() ?? this.#newest.html
    this.#costMs = clock.now() - begun
    this.#pace.spend(this.#costMs)
    this.#step =
      this.#costMs > RENDERING_STEP_MS
        ? Math.max(this.#step / 4, SHORT_STEP_CHARACTERS)
        : Math.min(this.#step * 2, RENDERING_STEP_CHARACTERS)
    return html
  }

  #wakeAll(): void {
    for (const wakeUp of this.#wakeUps) wakeUp()
  }
}
