import { stringWidth, wrapAnsi } from 'bun'
import { closesFence, type Fence, openingFence } from '../fence.ts'
import type { CodeHighlighting, Highlighter } from './highlighter.ts'
import { markdownLines } from './markdown.ts'
import { style } from './style.ts'

/** An answer as lines for the terminal, while it comes. */
export interface AnswerLayout {
  append(text: string): void
  /** Nothing more comes: all lines are final. */
  end(): void
  /** The final lines that were not taken yet. */
  takeFinal(): string[]
  /** The lines after them, as if the answer ended here, none wider than the terminal. They may change. */
  open(): string[]
}

/** The marks of a list item or quotation, behind which its further lines are indented. */
const MARKS = /^ *(?:(?:[-*+]|\d{1,9}[.)]|>) +)*/

const LIST_ITEM = /^(?:[-*+]|\d{1,9}[.)])(?: |$)/

/** As wide as the most that a tab takes at a terminal. */
const TAB = ' '.repeat(8)

/** The text as the model wrote it, wrapped between words. Code is not wrapped. */
export class PlainLayout implements AnswerLayout {
  readonly #width: number
  readonly #final: string[] = []
  #line = ''
  #fence: Fence | null = null

  constructor(width: number) {
    this.#width = width
  }

  append(text: string): void {
    const [first = '', ...rest] = text.split('\n')
    this.#line += first
    for (const next of rest) {
      this.#final.push(...this.#lines())
      if (this.#fence) this.#fence = closesFence(this.#line, this.#fence) ? null : this.#fence
      else this.#fence = openingFence(this.#line)
      this.#line = next
    }
  }

  end(): void {
    if (this.#line !== '') this.append('\n')
  }

  takeFinal(): string[] {
    return this.#final.splice(0)
  }

  open(): string[] {
    return this.#line === '' ? [] : screenRows(this.#lines(), this.#width)
  }

  #lines(): string[] {
    const [marks = ''] = MARKS.exec(this.#line) ?? []
    const width = this.#width - marks.length
    if (this.#fence || width < marks.length) return [this.#line]
    const [first = '', ...rest] = wrapAnsi(this.#line.slice(marks.length), width, { hard: true }).split('\n')
    return [marks + first, ...rest.map(line => ' '.repeat(marks.length) + line)]
  }
}

interface OpenCode {
  readonly fence: Fence
  readonly highlight: CodeHighlighting
}

/**
 * The text as markdown, laid out block by block. A line of code is final when it is whole, any other block when the next
 * begins. So the work for a piece grows with its block alone.
 */
export class MarkdownLayout implements AnswerLayout {
  readonly #width: number
  readonly #highlighter: Highlighter
  readonly #final: string[] = []
  /** The whole lines of the block that is being written, none of them blank before the first that is not. */
  #block: string[] = []
  /** What has come of the next line. */
  #line = ''
  #code: OpenCode | null = null
  /** Blanks before each line of the block: it goes on with a list item in which there was code. */
  #margin = 0
  /** Whether an empty line comes before what is next. */
  #gap = false
  #isEmpty = true

  constructor(width: number, highlighter: Highlighter) {
    this.#width = width
    this.#highlighter = highlighter
  }

  append(text: string): void {
    const [first = '', ...rest] = text.split('\n')
    this.#line += first
    for (const next of rest) {
      if (this.#code) this.#endLineOfCode(this.#code)
      else this.#endLine()
      this.#line = next
    }
  }

  end(): void {
    if (this.#line !== '') this.append('\n')
    this.#finishBlock()
  }

  takeFinal(): string[] {
    return this.#final.splice(0)
  }

  open(): string[] {
    if (this.#code) return this.#line === '' ? [] : screenRows([this.#line], this.#width)
    return screenRows(this.#separated(this.#laidOut([...this.#block, this.#line])), this.#width)
  }

  #endLineOfCode({ fence, highlight }: OpenCode): void {
    if (closesFence(this.#line, fence)) {
      this.#finish([style.faint(this.#line)])
      this.#code = null
      this.#margin = fence.indentation
    } else {
      this.#finish([highlight(this.#line)])
    }
  }

  #endLine(): void {
    const line = this.#line
    const fence = openingFence(line)
    if (fence) {
      this.#finishBlock()
      this.#finish([style.faint(line)])
      this.#code = { fence, highlight: this.#highlighter.open(fence.label) }
    } else if (line.trim() === '') {
      if (this.#block.length > 0) this.#block.push('')
      else this.#gap = true
    } else {
      if (this.#beginsBlock(line)) this.#finishBlock()
      if (indentationOf(line) < this.#margin) this.#margin = 0
      this.#block.push(line)
    }
  }

  /** Whether nothing from this line on can change how the block before it is laid out. */
  #beginsBlock(line: string): boolean {
    const indentation = indentationOf(line)
    if (indentation < this.#margin) return true
    if (this.#block.at(-1) !== '' || indentation > this.#margin) return false
    // The items of a list may have blank lines between them.
    const isListItem = (text: string) => LIST_ITEM.test(text.slice(this.#margin))
    return !(isListItem(line) && this.#block.some(isListItem))
  }

  #finishBlock(): void {
    this.#finish(this.#laidOut(this.#block))
    if (this.#block.at(-1) === '') this.#gap = true
    this.#block = []
  }

  #finish(lines: readonly string[]): void {
    if (lines.length === 0) return
    this.#final.push(...this.#separated(lines))
    this.#gap = false
    this.#isEmpty = false
  }

  #separated(lines: readonly string[]): string[] {
    return this.#gap && !this.#isEmpty && lines.length > 0 ? ['', ...lines] : [...lines]
  }

  #laidOut(block: readonly string[]): string[] {
    const text = block.map(line => line.slice(Math.min(indentationOf(line), this.#margin))).join('\n')
    if (text.trim() === '') return []
    const lines = markdownLines(text, this.#width - this.#margin, this.#highlighter)
    return this.#margin === 0 ? lines : lines.map(line => ' '.repeat(this.#margin) + line)
  }
}

function indentationOf(line: string): number {
  return line.length - line.trimStart().length
}

/**
 * The lines as a terminal breaks them: code is not wrapped, and what has no room is too wide. What may be drawn again must
 * be known row by row.
 */
function screenRows(lines: readonly string[], width: number): string[] {
  return lines.flatMap(line => {
    const spaced = line.replaceAll('\t', TAB)
    if (stringWidth(spaced) <= width) return [spaced]
    return wrapAnsi(spaced, width, { hard: true, wordWrap: false, trim: false }).split('\n')
  })
}
