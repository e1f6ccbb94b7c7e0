import type { Token } from 'markdown-it'
import { CodeMemory } from './code.ts'
import type { Dialect } from './dialect.ts'
import { References } from './references.ts'
import { forcedCut, naturalCuts, type Parsed } from './sections.ts'
import { SourceText } from './source-text.ts'

/** Blocks that are rendered together. */
interface Section {
  readonly blocks: Token[]
  readonly code: CodeMemory
}

/** A finished section, or several of them that have no brackets for a definition to make links of. */
interface Finished {
  html: string
  readonly section: Section | null
  /** The labels that it looks up. */
  labels: ReadonlySet<string>
}

/**
 * Markdown that arrives in pieces, and the HTML of what has arrived: exactly that of the same text in one go. Finished
 * sections keep their HTML; only the open one is parsed and rendered again.
 */
export class MarkdownStream {
  readonly #dialect: Dialect
  readonly #sectionMax: number
  readonly #source = new SourceText()
  readonly #references = new References()
  readonly #finished: Finished[] = []
  #finishedHtml = ''
  /** The text behind the finished sections, and what is repeated before it: the head of a table that had to be cut. */
  #open = ''
  #head = ''
  #code = new CodeMemory()
  #html: string | null = ''

  constructor(dialect: Dialect, sectionMax: number) {
    this.#dialect = dialect
    this.#sectionMax = sectionMax
  }

  /** Adds the next piece. It may end anywhere, even between the halves of a character or of a line break. */
  append(piece: string): void {
    const text = this.#source.next(piece)
    if (text === '') return
    this.#open += text
    this.#html = null
  }

  /** HTML of the whole text so far. */
  html(): string {
    this.#html ??= this.#render()
    return this.#html
  }

  #render(): string {
    const sections: Section[] = []
    const open = this.#divide(sections)
    // Only now are all definitions known.
    this.#renderAgain(this.#references.takeChanged())
    const finished = sections.map(section => this.#finish(section))
    if (finished.length > 0) this.#finishedHtml = joined([this.#finishedHtml, ...finished])
    return this.#finishedHtml + this.#htmlOf({ blocks: open, code: this.#code })
  }

  /** Moves what is complete of the open text into sections; returns the blocks of the rest. */
  #divide(sections: Section[]): Token[] {
    for (;;) {
      const beginning = this.#parse(this.#sectionMax)
      const cuts = naturalCuts(beginning)
      for (const [index, { block }] of cuts.entries()) {
        this.#take(beginning.blocks.slice(cuts[index - 1]?.block ?? 0, block), sections)
      }
      const last = cuts.at(-1)
      if (last) {
        this.#moveTo(last.offset, '')
        continue
      }
      if (this.#open.length <= this.#sectionMax) return beginning.blocks
      let all = beginning
      const parseAll = () => (all = this.#parse(this.#open.length))
      const cut = forcedCut(beginning, parseAll, this.#head.length)
      if (!cut) return all.blocks
      this.#take(this.#parse(cut.offset - this.#head.length).blocks, sections)
      this.#moveTo(cut.offset, cut.head)
    }
  }

  #parse(length: number): Parsed {
    this.#references.parseAgain()
    const text = this.#head + this.#open.slice(0, length)
    return { text, blocks: this.#dialect.blocks(text, this.#references.definitions) }
  }

  #take(blocks: Token[], sections: Section[]): void {
    for (const { type, meta } of blocks) {
      if (type === 'reference_definition') this.#references.finish(String(meta?.label))
    }
    sections.push({ blocks, code: this.#code })
    this.#code = new CodeMemory()
  }

  #moveTo(offset: number, head: string): void {
    this.#open = this.#open.slice(offset - this.#head.length)
    this.#head = head
  }

  #finish(section: Section): string {
    this.#references.takeAsked()
    const html = this.#htmlOf(section)
    const labels = this.#references.takeAsked()
    const last = this.#finished.at(-1)
    if (labels.size > 0) this.#finished.push({ html, section, labels })
    else if (last && !last.section) last.html += html
    else this.#finished.push({ html, section: null, labels })
    return html
  }

  /** Renders the finished sections again that look up one of these labels. */
  #renderAgain(changed: readonly string[]): void {
    const stale = this.#finished.filter(({ labels }) => changed.some(label => labels.has(label)))
    if (stale.length === 0) return
    for (const finished of stale) {
      if (!finished.section) continue
      this.#references.takeAsked()
      finished.html = this.#htmlOf(finished.section)
      finished.labels = this.#references.takeAsked()
    }
    this.#finishedHtml = joined(this.#finished.map(({ html }) => html))
  }

  #htmlOf({ blocks, code }: Section): string {
    code.rewind()
    return this.#dialect.html(blocks, this.#references.definitions, code)
  }
}

/** One flat string. What `+` makes is only joined when somebody reads it: all its parts, with each piece. */
function joined(parts: readonly string[]): string {
  return parts.join('')
}
