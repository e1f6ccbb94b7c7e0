import { openHighlighter } from '../highlighting/highlighter.ts'
import { CodePainter } from './code.ts'
import { Dialect } from './dialect.ts'
import type { LineBreak } from './html.ts'
import { MarkdownStream } from './stream.ts'
import { pairThemes } from './theme.ts'

/**
 * A section that grows longer is ended, wherever that is, so that the work for a piece is bounded. Code does not count:
 * a fence is never cut.
 */
const SECTION_MAX_CHARACTERS = 8_192

interface MarkdownOptions {
  readonly lineBreak?: LineBreak
  /** A smaller bound, so that tests meet it with short texts. */
  readonly sectionMax?: number
}

/** Renders markdown to safe HTML, whole or as it arrives. */
export class Markdown {
  readonly #code: CodePainter
  readonly #dialect: Dialect

  readonly #sectionMax: number

  constructor(code: CodePainter, { lineBreak, sectionMax }: Required<MarkdownOptions>) {
    this.#code = code
    this.#dialect = new Dialect({ code, lineBreak })
    this.#sectionMax = sectionMax
  }

  /** HTML of a whole text. */
  render(text: string): string {
    const stream = this.stream()
    stream.append(text)
    return stream.html()
  }

  /** Begins a text that arrives in pieces. */
  stream(): MarkdownStream {
    return new MarkdownStream(this.#dialect, this.#sectionMax)
  }

  /** Compiles the most used languages ahead, so that the first code in them need not wait. */
  async warmUp(): Promise<void> {
    await this.#code.warmUp()
  }
}

/** Loads the highlighter with its grammars, in some 50 ms. One instance serves a whole program. */
export async function openMarkdown({
  lineBreak = '\n',
  sectionMax = SECTION_MAX_CHARACTERS,
}: MarkdownOptions = {}): Promise<Markdown> {
  const { theme, blockStyle } = pairThemes()
  const highlighter = await openHighlighter(theme)
  return new Markdown(new CodePainter({ highlighter, blockStyle, lineBreak }), { lineBreak, sectionMax })
}
