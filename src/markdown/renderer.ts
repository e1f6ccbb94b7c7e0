import { openHighlighter } from '../highlighting/highlighter.ts'
import { codeRenderer } from './code.ts'
import { Dialect } from './dialect.ts'
import { MarkdownStream } from './stream.ts'
import { pairThemes } from './theme.ts'

/**
 * Length limit of a section, which bounds the work for a piece. A longer section is cut. Code does not count: a fence is
 * never cut.
 */
const SECTION_MAX_CHARACTERS = 8_192

/** Renders markdown to safe HTML as it arrives. */
export interface Markdown {
  /** Starts a text that arrives in pieces. */
  stream(): MarkdownStream
}

/**
 * Loads the highlighter with its grammars. Takes about 50 ms; one instance serves the whole program. With `sectionMax`, tests
 * reach the limit with short texts.
 */
export async function openMarkdown(sectionMax = SECTION_MAX_CHARACTERS): Promise<Markdown> {
  const { theme, blockStyle } = pairThemes()
  const dialect = new Dialect(codeRenderer(await openHighlighter(theme), blockStyle))
  return { stream: () => new MarkdownStream(dialect, sectionMax) }
}
