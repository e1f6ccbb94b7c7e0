import type { WriteStream } from 'node:tty'
import { stripANSI } from 'bun'
import { type AnswerLayout, screenRows } from './answer-layout.ts'

/** Least time between two drawings. If the last drawing took longer, the next one waits that long. */
const FRAME_MS = 16

/** Writes an answer as it arrives, without changes. It does not wait for its reader once the signal is aborted. */
export class AnswerInPipe {
  readonly #output: NodeJS.WritableStream
  readonly #signal: AbortSignal | undefined
  #last = '\n'

  constructor(output: NodeJS.WritableStream, signal: AbortSignal | undefined) {
    this.#output = output
    this.#signal = signal
  }

  async append(text: string): Promise<void> {
    this.#last = text
    await written(this.#output, text, this.#signal)
  }

  /** Ends the last line. */
  async end(): Promise<void> {
    if (!this.#last.endsWith('\n')) await written(this.#output, '\n', this.#signal)
  }
}

/** Resolves when the reader is ready for more, or the signal is aborted. */
export function written(output: NodeJS.WritableStream, text: string, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      signal?.removeEventListener('abort', end)
      resolve()
    }
    signal?.addEventListener('abort', end)
    output.write(text, end)
    if (signal?.aborted) end()
  })
}

/** Draws an answer at a terminal as it arrives. Redraws only the changed part, mostly the end of the last line. */
export class AnswerOnScreen {
  readonly #output: WriteStream
  readonly #layout: AnswerLayout
  /** The last final line and the lines after it, as drawn. The cursor is at the end. */
  #drawn: string[] = []
  /** The number of these lines that are final. */
  #final = 0
  /** The number of these lines that can no longer be redrawn. */
  #fixed = 0
  #frame: ReturnType<typeof setTimeout> | null = null
  /** Duration of the last drawing. A long block must leave time for the keyboard. */
  #drawingMs = 0
  // When its width changes, a terminal wraps its lines again, so the position of earlier lines is unknown.
  readonly #resized = () => {
    this.#fixed = Math.max(0, this.#drawn.length - 1)
  }

  constructor(output: WriteStream, layout: AnswerLayout) {
    this.#output = output
    this.#layout = layout
    output.on('resize', this.#resized)
  }

  append(text: string): void {
    this.#layout.append(text)
    this.#frame ??= setTimeout(() => this.#draw(), Math.max(FRAME_MS, this.#drawingMs))
  }

  /** Ends the last line. */
  end(): void {
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
    const { columns, rows } = this.#output
    // Lines that have scrolled off the screen cannot be redrawn either.
    let fixed = Math.max(this.#fixed, this.#drawn.length - rows + 1)
    while (fixed < this.#drawn.length - 1 && screenRows(this.#drawn.slice(fixed), columns) >= rows) fixed += 1
    const kept = sameContent(this.#drawn, fixed, lines)
    this.#output.write(redraw([...lines.slice(0, kept), ...this.#drawn.slice(fixed)], lines, kept, columns))
    if (kept !== fixed) this.#fixed = kept
    const gone = Math.max(0, final.length - 1)
    this.#drawn = lines.slice(gone)
    this.#final = final.length - gone
    this.#fixed = Math.max(0, this.#fixed - gone)
    this.#drawingMs = performance.now() - begunAt
  }
}

/**
 * The number of new lines that have the same content as the first `count` lines that are drawn. Those stay on the screen, even if a
 * later line has changed the layout of their block, such as the widths of a table.
 */
function sameContent(drawn: readonly string[], count: number, lines: readonly string[]): number {
  const shown = contentOf(drawn.slice(0, count))
  if (shown === contentOf(lines.slice(0, count))) return count
  let [same, found] = [0, 0]
  while (same < lines.length && found < shown.length) {
    found += contentOf(lines.slice(same, same + 1)).length
    same += 1
  }
  // If a row was cut in the middle, it is shown again as a whole: a repeated part is better than a lost one.
  return found > shown.length ? same - 1 : same
}

/** The text of lines without what depends on their layout. */
function contentOf(lines: readonly string[]): string {
  return stripANSI(lines.join('')).replaceAll(/[\s│─┼]+/g, '')
}

/** The output that turns the drawn lines into the new ones. The cursor is at the end of the last line, in both. */
function redraw(before: readonly string[], after: readonly string[], fixed: number, columns: number): string {
  const last = before.length - 1
  const differing = before.findIndex((line, index) => line !== after[index])
  const first = Math.max(fixed, differing < 0 ? before.length : Math.min(differing, Math.max(0, after.length - 1)))
  const lines = after.slice(first).join('\n')
  if (first > last) return lines === '' && after.length <= first ? '' : `${first > 0 ? '\n' : ''}${lines}`
  const drawn = before.slice(first).join('\n')
  if (lines.startsWith(drawn)) return lines.slice(drawn.length)
  // If the terminal is now narrower than the layout, a line takes several rows.
  const rowsUp = screenRows(before.slice(first), columns) - 1
  return `${rowsUp > 0 ? `\x1b[${rowsUp}A` : ''}\r\x1b[J${lines}`
}
