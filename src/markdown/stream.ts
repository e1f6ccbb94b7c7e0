import type { Token } from 'markdown-it'
import type { CodeCache } from './code.ts'
import type { Dialect } from './dialect.ts'
import { LinkDefinitions, type Lookups } from './references.ts'
import { forcedCut, naturalCuts, type Parsed } from './sections.ts'
import { SourceText } from './source-text.ts'

/** Blocks that are rendered together. */
interface Section {
  readonly blocks: Token[]
  readonly code: CodeCache
}

/** A finished section. */
interface Finished {
  html: string
  /** `null` if it looks up no link labels, so that its HTML stays. */
  readonly section: Section | null
  lookups: Lookups
}

/**
 * Markdown that arrives in pieces. The HTML is always the same as if the text so far were rendered at once. Finished
 * sections keep their HTML; only the open section is parsed and rendered again.
 */
export class MarkdownStream {
  readonly #dialect: Dialect
  readonly #sectionMax: number
  readonly #source = new SourceText()
  readonly #references = new LinkDefinitions()
  readonly #finished: Finished[] = []
  #finishedHtml = ''
  /** The text after the finished sections, and the table head to repeat before it if a table had to be cut. */
  #open = ''
  #head = ''
  #code: CodeCache = []
  #html: string | null = ''

  constructor(dialect: Dialect, sectionMax: number) {
    this.#dialect = dialect
    this.#sectionMax = sectionMax
  }

  /** Adds the next piece. It may end anywhere, even between the halves of a surrogate pair or of a CRLF. */
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
    // All definitions are known only now.
    this.#renderChanged()
    const finished = sections.map(section => this.#finish(section))
    if (finished.length > 0) this.#finishedHtml = joined([this.#finishedHtml, ...finished])
    return this.#finishedHtml + this.#htmlOf({ blocks: open, code: this.#code })
  }

  /** Moves the complete part of the open text into sections. Returns the blocks of the rest. */
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
    this.#code = []
  }

  #moveTo(offset: number, head: string): void {
    this.#open = this.#open.slice(offset - this.#head.length)
    this.#head = head
  }

  #finish(section: Section): string {
    const { html, lookups } = this.#htmlAndLookups(section)
    this.#finished.push({ html, section: lookups.size > 0 ? section : null, lookups })
    return html
  }

  /** Renders the finished sections again that look up a label whose definition has appeared, disappeared or changed. */
  #renderChanged(): void {
    const changed = this.#finished.filter(({ lookups }) => this.#references.haveChanged(lookups))
    if (changed.length === 0) return
    for (const finished of changed) {
      if (finished.section) Object.assign(finished, this.#htmlAndLookups(finished.section))
    }
    this.#finishedHtml = joined(this.#finished.map(({ html }) => html))
  }

  #htmlAndLookups(section: Section): Pick<Finished, 'html' | 'lookups'> {
    this.#references.takeLookups()
    const html = this.#htmlOf(section)
    return { html, lookups: this.#references.takeLookups() }
  }

  #htmlOf({ blocks, code }: Section): string {
    return this.#dialect.html(blocks, this.#references.definitions, code)
  }
}

/** A flat string. A string built with `+` would be flattened again, from all its parts, for every piece. */
function joined(parts: readonly string[]): string {
  return parts.join('')
}
