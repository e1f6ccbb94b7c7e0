import type { Markdown } from '../../markdown/renderer.ts'
import type { MarkdownStream } from '../../markdown/stream.ts'
import type { Ending } from './repository.ts'

/** What is shown of an answer at one moment: its whole text so far, as HTML, and how it ended if it did. */
export interface Shown {
  readonly html: string
  readonly ending: Ending | null
}

/**
 * An answer as it is shown while it grows. It is rendered once for all who listen; each takes the newest rendering at its
 * own pace, and never one that a newer one has replaced.
 */
export class Rendition {
  readonly #wakeUps = new Set<() => void>()
  readonly #markdown: Markdown
  #rendering: MarkdownStream
  #text = ''
  #shown: Shown = { html: '', ending: null }
  /** Counts what listeners are to be shown, so that each knows what it has seen. */
  #version = 0
  #isOver = false

  constructor(markdown: Markdown) {
    this.#markdown = markdown
    this.#rendering = markdown.stream()
  }

  /** An answer that ended before. */
  static of(text: string, ending: Ending, markdown: Markdown): Rendition {
    const rendition = new Rendition(markdown)
    rendition.append(text)
    rendition.end(ending)
    return rendition
  }

  get text(): string {
    return this.#text
  }

  get shown(): Shown {
    return this.#shown
  }

  get listeners(): number {
    return this.#wakeUps.size
  }

  append(piece: string): void {
    if (piece === '') return
    this.#text += piece
    this.#rendering.append(piece)
    this.#show({ html: this.#rendering.html(), ending: null })
  }

  /** Nothing comes any more. An ordinary end shows nothing that was not shown before. */
  end(ending: Ending): void {
    this.#isOver = true
    // What it remembers of the text so far is no longer needed.
    this.#rendering = this.#markdown.stream()
    if (ending.state === 'finished') this.#shown = { ...this.#shown, ending }
    else this.#show({ ...this.#shown, ending })
    this.#wakeAll()
  }

  /** Lets the listeners go, though the answer has not ended. */
  detach(): void {
    this.#isOver = true
    this.#wakeAll()
  }

  /**
   * What is shown now, then whatever is shown next, until the answer ends or `signal` says that the listener is gone.
   * Nothing is shown of an answer of which nothing has come.
   */
  async *listen(signal: AbortSignal): AsyncGenerator<Shown> {
    let news = Promise.withResolvers<void>()
    const wakeUp = () => news.resolve()
    this.#wakeUps.add(wakeUp)
    signal.addEventListener('abort', wakeUp)
    try {
      let seen = 0
      while (!signal.aborted) {
        if (this.#version > seen) {
          seen = this.#version
          yield this.#shown
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

  #show(shown: Shown): void {
    this.#shown = shown
    this.#version += 1
    this.#wakeAll()
  }

  #wakeAll(): void {
    for (const wakeUp of this.#wakeUps) wakeUp()
  }
}
