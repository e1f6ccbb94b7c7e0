import { openHighlighter } from '../highlighting/highlighter.ts'
import { CodeRenderer } from './code.ts'
import { Dialect } from './dialect.ts'
import type { LineBreak } from './html.ts'
import { MarkdownStream } from './stream.ts'
import { pairThemes } from './theme.ts'

/**
 * Length limit of a section, which bounds the work for a piece. A longer section is cut. Code does not count: a fence is
 * never cut.
 */
const SECTION_MAX_CHARACTERS = 8_192

interface MarkdownOptions {
  readonly lineBreak?: LineBreak
  /** Lets tests reach the limit with short texts. */
  readonly sectionMax?: number
}

/** Renders markdown to safe HTML, whole or as it arrives. */
export class Markdown {
  readonly #code: CodeRenderer
  readonly #dialect: Dialect
  readonly #sectionMax: number

  constructor(code: CodeRenderer, { lineBreak, sectionMax }: Required<MarkdownOptions>) {
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

  /** Starts a text that arrives in pieces. */
  stream(): MarkdownStream {
    return new MarkdownStream(this.#dialect, this.#sectionMax)
  }

  /** Compiles the most used languages, so that the first code in them is not delayed. */
  async warmUp(): Promise<void> {
    await this.#code.warmUp()
  }
}

/** Loads the highlighter with its grammars. Takes about 50 ms; one instance serves the whole program. */
export async function openMarkdown({
  lineBreak = '\n',
  sectionMax = SECTION_MAX_CHARACTERS,
}: MarkdownOptions = {}): Promise<Markdown> {
  const { theme, blockStyle } = pairThemes()
  const highlighter = await openHighlighter(theme)
  return new Markdown(new CodeRenderer({ highlighter, blockStyle, lineBreak }), { lineBreak, sectionMax })
}
