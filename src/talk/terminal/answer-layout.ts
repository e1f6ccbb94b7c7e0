import { wrapAnsi } from 'bun'
import { closesFence, type Fence, fenceAfter, openingFence } from '../fence.ts'
import type { CodeHighlighting } from './highlighter.ts'
import { markdownLines } from './markdown.ts'
import { style } from './style.ts'
import { wrapped } from './wrapping.ts'

/** The marks of a list item or quotation. Its further lines are indented by their width. */
const MARKS = /^ *(?:(?:[-*+]|\d{1,9}[.)]|>) +)*/

const LIST_ITEM = /^(?:[-*+]|\d{1,9}[.)])(?: |$)/

/** The greatest width of a tab at a terminal. */
const TAB = ' '.repeat(8)

const NO_BREAK_SPACE = '\u00a0'

/** Lays out an answer in lines for the terminal as it arrives. */
export abstract class AnswerLayout {
  protected readonly width: number
  protected readonly final: string[] = []
  /** The incomplete last line. */
  protected line = ''

  constructor(width: number) {
    this.width = width
  }

  append(text: string): void {
    const [first = '', ...rest] = text.split('\n')
    this.line += first
    for (const next of rest) {
      this.endLine()
      this.line = next
    }
  }

  /** Ends the answer: all lines are final. */
  end(): void {
    if (this.line !== '') this.append('\n')
  }

  /** The final lines since the last call. */
  takeFinal(): string[] {
    return this.final.splice(0)
  }

  /** The lines after the final ones, as if the answer ended here, without tabs. They may still change. */
  abstract open(): string[]

  protected abstract endLine(): void
}

/** The text as the model wrote it, wrapped at words. Code is not wrapped. */
export class PlainLayout extends AnswerLayout {
  #fence: Fence | null = null

  open(): string[] {
    return this.line === '' ? [] : this.#lines().map(withoutTabs)
  }

  protected endLine(): void {
    this.final.push(...this.#lines())
    this.#fence = fenceAfter(this.line, this.#fence)
  }

  #lines(): string[] {
    const [marks = ''] = MARKS.exec(this.line) ?? []
    const width = this.width - marks.length
    if (this.#fence || width < marks.length) return [this.line]
    const [first = '', ...rest] = wrapped(this.line.slice(marks.length), width)
    return [marks + first, ...rest.map(line => ' '.repeat(marks.length) + line)]
  }
}

interface OpenCode {
  readonly fence: Fence
  readonly highlight: (line: string) => string
}

/**
 * The text as markdown, laid out block by block. A line of code is final when it is complete, any other block when the next
 * one begins. So the work for a piece depends on the length of its block only.
 */
export class MarkdownLayout extends AnswerLayout {
  readonly #highlighting: CodeHighlighting
  /** The complete lines of the open block, without leading blank lines. */
  #block: string[] = []
  #code: OpenCode | null = null
  /** Indentation of the block's lines, if the block continues a list item after code in it. */
  #margin = 0
  /** Whether to put an empty line before the next lines. */
  #gap = false
  #isEmpty = true

  constructor(width: number, highlighting: CodeHighlighting) {
    super(width)
    this.#highlighting = highlighting
  }

  override end(): void {
    super.end()
    this.#finishBlock()
  }

  open(): string[] {
    if (this.#code) return this.line === '' ? [] : [withoutTabs(this.line)]
    return this.#separated(this.#laidOut([...this.#block, this.line])).map(withoutTabs)
  }

  protected endLine(): void {
    if (this.#code) this.#endLineOfCode(this.#code)
    else this.#endLineOfBlock()
  }

  #endLineOfCode({ fence, highlight }: OpenCode): void {
    if (closesFence(this.line, fence)) {
      this.#finish([style.faint(this.line)])
      this.#code = null
      this.#margin = fence.indentation
    } else {
      this.#finish([highlight(this.line)])
    }
  }

  #endLineOfBlock(): void {
    const { line } = this
    const fence = openingFence(line)
    if (fence) {
      this.#finishBlock()
      this.#finish([style.faint(line)])
      this.#code = { fence, highlight: this.#highlighting(fence.label) }
    } else if (line.trim() === '') {
      if (this.#block.length > 0) this.#block.push('')
      else this.#gap = true
    } else {
      if (this.#beginsBlock(line)) this.#finishBlock()
      this.#margin = Math.min(this.#margin, indentationOf(line))
      this.#block.push(line)
    }
  }

  /** Whether the block before this line is complete, so that its layout can no longer change. */
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
    this.final.push(...this.#separated(lines))
    this.#gap = false
    this.#isEmpty = false
  }

  #separated(lines: readonly string[]): string[] {
    return this.#gap && !this.#isEmpty && lines.length > 0 ? ['', ...lines] : [...lines]
  }

  #laidOut(block: readonly string[]): string[] {
    const text = block.map(line => line.slice(Math.min(indentationOf(line), this.#margin))).join('\n')
    if (text.trim() === '') return []
    const lines = markdownLines(text, this.width - this.#margin, this.#highlighting)
    return this.#margin === 0 ? lines : lines.map(line => ' '.repeat(this.#margin) + line)
  }
}

function indentationOf(line: string): number {
  return line.length - line.trimStart().length
}

/** A tab's width depends on its place. */
function withoutTabs(line: string): string {
  return line.replaceAll('\t', TAB)
}

/** The number of rows that lines take on the screen. The terminal splits those that are too wide, such as code. */
export function screenRows(lines: readonly string[], width: number): number {
  // At a blank, the library would take a word that does not fit to the next row.
  const text = withoutTabs(lines.join('\n')).replaceAll(' ', NO_BREAK_SPACE)
  return wrapAnsi(text, width, { hard: true, wordWrap: false, trim: false }).split('\n').length
}
