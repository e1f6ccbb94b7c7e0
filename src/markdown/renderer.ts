import { type Highlighter, openHighlighter } from './code.ts'
import { Dialect, type LineBreak } from './dialect.ts'
import { SourceText } from './source-text.ts'
import { MarkdownStream } from './stream.ts'

interface MarkdownOptions {
  readonly lineBreak?: LineBreak
}

/** Renders markdown to safe HTML, whole or as it arrives. */
export class Markdown {
  readonly #highlighter: Highlighter
  readonly #dialect: Dialect

  constructor(highlighter: Highlighter, { lineBreak = '\n' }: MarkdownOptions = {}) {
    this.#highlighter = highlighter
    this.#dialect = new Dialect(highlighter, lineBreak)
  }

  /** HTML of a whole text. */
  render(text: string): string {
    const definitions = {}
    const { tokens } = this.#dialect.blocks(new SourceText().next(text), definitions)
    this.#dialect.inlines(tokens, definitions)
    return this.#dialect.write(tokens, 0, tokens.length)
  }

  /** Begins a text that arrives in pieces. */
  stream(): MarkdownStream {
    return new MarkdownStream(this.#dialect)
  }

  /** Does ahead what the first code in the usual languages would have to wait for. */
  async warmUp(): Promise<void> {
    await this.#highlighter.warmUp()
  }
}

/** Loads the highlighter with its grammars, in some 50 ms. One instance serves a whole program. */
export async function openMarkdown(options?: MarkdownOptions): Promise<Markdown> {
  return new Markdown(await openHighlighter(), options)
}
