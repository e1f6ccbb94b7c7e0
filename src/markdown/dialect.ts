import MarkdownIt, { type Ruler, type StateCore, type Token } from 'markdown-it'
import type { CodeCache, RenderCode } from './code.ts'
import { LINE_BREAK } from './html.ts'
import type { Definitions } from './references.ts'
import { makeSafe, UNNEST_LINKS } from './safety.ts'
import { boundTables } from './tables.ts'

/** Nesting limit. markdown-it drops anything deeper. */
const NESTING_MAX = 100

/** Length limit of a bare link. The engine matches a longer one with its interpreter, which takes a hundred times as long. */
const BARE_LINK_MAX_CHARACTERS = 2_048

const CODE_BLOCKS = new Set(['fence', 'code_block'])

/**
 * CommonMark with GFM's tables, strikethrough and bare links: markdown-it, with the safety rules and the highlighter. A
 * text is parsed into blocks first; the text within the blocks is parsed when they are rendered.
 */
export class Dialect {
  readonly #markdown = new MarkdownIt({ linkify: true, maxNesting: NESTING_MAX })
  readonly #renderCode: RenderCode
  readonly #parseBlocks: readonly CoreRule[]
  readonly #parseInlines: readonly CoreRule[]

  constructor(renderCode: RenderCode) {
    this.#renderCode = renderCode
    const markdown = this.#markdown
    makeSafe(markdown)
    boundTables(markdown)
    // Otherwise "main.py" becomes a link to a site in Paraguay.
    const withoutGuesses = { fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false }
    markdown.linkify.set({ ...withoutGuesses, maxLength: BARE_LINK_MAX_CHARACTERS })
    // They are not allowed. The parser would match each to its end, refuse it, and go on with the next one within it.
    markdown.linkify.add('ftp:', null).add('//', null)
    this.#parseBlocks = rulesOf(markdown.core.ruler, ['block'])
    this.#parseInlines = rulesOf(markdown.core.ruler, ['inline', 'linkify', 'text_join', UNNEST_LINKS])
  }

  /** Parses text from `SourceText` into blocks, and adds its link reference definitions to `definitions`. */
  blocks(text: string, definitions: Definitions): Token[] {
    const state = new this.#markdown.core.State(text, this.#markdown, { references: definitions })
    for (const parse of this.#parseBlocks) parse(state)
    return state.tokens
  }

  /** HTML of blocks. `cache` is for the code in them. */
  html(blocks: Token[], definitions: Definitions, cache: CodeCache): string {
    const { renderer, options } = this.#markdown
    this.#parseLines(blocks, definitions)
    let html = ''
    let written = ''
    let codeBlocks = 0
    for (const [index, token] of blocks.entries()) {
      const rule = renderer.rules[token.type]
      if (CODE_BLOCKS.has(token.type)) {
        html += oneLine(written) + this.#renderCode(this.#label(token), token.content, cache, codeBlocks)
        written = ''
        codeBlocks += 1
      } else if (token.type === 'inline') written += renderer.renderInline(token.children ?? [], options, undefined)
      else if (rule) written += rule(blocks, index, options, undefined, renderer)
      else written += renderer.renderToken(blocks, index, options)
    }
    return html + oneLine(written)
  }

  #parseLines(blocks: Token[], definitions: Definitions): void {
    for (const token of blocks) if (token.type === 'inline') token.children = []
    const state = new this.#markdown.core.State('', this.#markdown, { references: definitions })
    state.tokens = blocks
    for (const parse of this.#parseInlines) parse(state)
  }

  /** The first word of a fence's info string; empty for indented code. */
  #label({ info }: Token): string {
    return this.#markdown.utils.unescapeAll(info).trim().split(/\s/, 1)[0] ?? ''
  }
}

/** HTML without line breaks. An entity in the text can also stand for a carriage return. */
function oneLine(html: string): string {
  const line = html.replaceAll('\n', LINE_BREAK)
  return line.includes('\r') ? line.replaceAll('\r', '&#13;') : line
}

type CoreRule = (state: StateCore) => void

function rulesOf(ruler: Ruler<[StateCore], void>, names: string[]): readonly CoreRule[] {
  ruler.enableOnly(names)
  return ruler.getRules('')
}
