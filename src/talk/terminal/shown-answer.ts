import type { WriteStream } from 'node:tty'
import type { AnswerLayout } from './answer-layout.ts'

/** Pieces that come within this time are drawn together, or within the time that the last drawing took, if that is longer. */
const FRAME_MS = 16

/** Shows an answer while it comes. */
export interface ShownAnswer {
  append(text: string): Promise<void>
  /** To the end of its last line. */
  end(): Promise<void>
}

/** Writes an answer as it is. */
export class AnswerInPipe implements ShownAnswer {
  readonly #output: NodeJS.WritableStream
  #last = '\n'

  constructor(output: NodeJS.WritableStream) {
    this.#output = output
  }

  async append(text: string): Promise<void> {
    this.#last = text
    await written(this.#output, text)
  }

  async end(): Promise<void> {
    if (!this.#last.endsWith('\n')) await written(this.#output, '\n')
  }
}

/** Resolves when the reader is ready for more. */
export function written(output: NodeJS.WritableStream, text: string): Promise<void> {
  return new Promise(resolve => output.write(text, () => resolve()))
}

/** Draws an answer at a terminal while it comes. Only what has changed is drawn again: mostly the end of the last line. */
export class AnswerOnScreen implements ShownAnswer {
  readonly #output: WriteStream
  readonly #layout: AnswerLayout
  /** The lines that were drawn and may change, behind one that may not; the cursor is behind the last of them. */
  #drawn: string[] = []
  /** How many of these are final. */
  #final = 0
  /** How many are where they cannot be drawn again. */
  #fixed = 0
  #frame: ReturnType<typeof setTimeout> | null = null
  /** How long the last drawing took: one long block must leave time for the keyboard. */
  #drawingMs = 0
  // A terminal breaks its lines anew when its width changes: where the earlier ones are then is not known.
  readonly #resized = () => {
    this.#fixed = Math.max(0, this.#drawn.length - 1)
  }

  constructor(output: WriteStream, layout: AnswerLayout) {
    this.#output = output
    this.#layout = layout
    output.on('resize', this.#resized)
  }

  async append(text: string): Promise<void> {
    this.#layout.append(text)
    this.#frame ??= setTimeout(() => this.#draw(), Math.max(FRAME_MS, this.#drawingMs))
  }

  async end(): Promise<void> {
    this.#output.off('resize', this.#resized)
    this.#layout.end()
    this.#draw()
    if (this.#drawn.length > 0) this.#output.write('\n')
  }

  #draw(): void {
    if (this.#frame) clearTimeout(this.#frame)
    this.#frame = null
    const begunAt = performance.now()
    const final = [...this.#drawn.slice(0, this.#final), ...this.#layout.takeFinal()]
    const lines = [...final, ...this.#layout.open()]
    // What has scrolled out of the screen cannot be drawn again either.
    const fixed = Math.max(this.#fixed, this.#drawn.length - this.#output.rows + 1)
    this.#output.write(change(this.#drawn, lines, fixed))
    const gone = Math.max(0, final.length - 1)
    this.#drawn = lines.slice(gone)
    this.#final = final.length - gone
    this.#fixed = Math.max(0, this.#fixed - gone)
    this.#drawingMs = performance.now() - begunAt
  }
}

/** What turns the lines before into those after; the cursor is behind the last line, in both. */
function change(before: readonly string[], after: readonly string[], fixed: number): string {
  const last = before.length - 1
  const differing = before.findIndex((line, index) => line !== after[index])
  const first = Math.max(fixed, differing < 0 ? before.length : Math.min(differing, Math.max(0, after.length - 1)))
  const lines = after.slice(first).join('\n')
  if (first > last) return lines === '' && after.length <= first ? '' : `${first > 0 ? '\n' : ''}${lines}`
  const drawn = before.slice(first).join('\n')
  if (lines.startsWith(drawn)) return lines.slice(drawn.length)
  return `${last > first ? `\x1b[${last - first}A` : ''}\r\x1b[J${lines}`
}
