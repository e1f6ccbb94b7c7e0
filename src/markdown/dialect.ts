import MarkdownIt, { type Env, type Ruler, type StateCore, type Token } from 'markdown-it'
import type { CodeMemory, CodePainter } from './code.ts'
import type { LineBreak } from './html.ts'
import { makeSafe, UNNEST_LINKS } from './safety.ts'
import { boundTables } from './tables.ts'

type Definitions = NonNullable<Env['references']>

/** The deepest nesting that is parsed; what lies deeper is dropped, as markdown-it does. */
const NESTING_MAX = 100

const CODE_BLOCKS = new Set(['fence', 'code_block'])

interface DialectOptions {
  readonly code: CodePainter
  readonly lineBreak: LineBreak
}

/**
 * CommonMark with GFM's tables, strikethrough and bare links, as markdown-it reads and writes it, with the safety rules
 * and the highlighter. A text is first parsed into blocks and then, block by block, within its lines.
 */
export class Dialect {
  readonly #markdown = new MarkdownIt({ linkify: true, maxNesting: NESTING_MAX })
  readonly #code: CodePainter
  readonly #lineBreak: LineBreak
  readonly #parseBlocks: readonly CoreRule[]
  readonly #parseInlines: readonly CoreRule[]

  constructor({ code, lineBreak }: DialectOptions) {
    this.#code = code
    this.#lineBreak = lineBreak
    const markdown = this.#markdown
    makeSafe(markdown)
    boundTables(markdown)
    // "main.py" is no link to a site in Paraguay.
    markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
    this.#parseBlocks = rulesOf(markdown.core.ruler, ['block'])
    this.#parseInlines = rulesOf(markdown.core.ruler, ['inline', 'linkify', 'text_join', UNNEST_LINKS])
  }

  /** Finds the blocks of text that is in `SourceText`'s form; puts its link reference definitions into `definitions`. */
  blocks(text: string, definitions: Definitions): Token[] {
    const state = new this.#markdown.core.State(text, this.#markdown, { references: definitions })
    for (const parse of this.#parseBlocks) parse(state)
    return state.tokens
  }

  /** HTML of blocks. `memory` is what is remembered of the code in them. */
  html(blocks: Token[], definitions: Definitions, memory: CodeMemory): string {
    const { renderer, options } = this.#markdown
    this.#parseLines(blocks, definitions)
    let html = ''
    let written = ''
    for (const [index, token] of blocks.entries()) {
      const rule = renderer.rules[token.type]
      if (CODE_BLOCKS.has(token.type)) {
        html += this.#encode(written) + this.#code.block(this.#label(token), token.content, memory)
        written = ''
      } else if (token.type === 'inline') written += renderer.renderInline(token.children ?? [], options, undefined)
      else if (rule) written += rule(blocks, index, options, undefined, renderer)
      else written += renderer.renderToken(blocks, index, options)
    }
    return html + this.#encode(written)
  }

  #parseLines(blocks: Token[], definitions: Definitions): void {
    for (const token of blocks) if (token.type === 'inline') token.children = []
    const state = new this.#markdown.core.State('', this.#markdown, { references: definitions })
    state.tokens = blocks
    for (const parse of this.#parseInlines) parse(state)
  }

  /** The first word of a fence's info string; none for indented code. */
  #label({ info }: Token): string {
    return this.#markdown.utils.unescapeAll(info).trim().split(/\s/, 1)[0] ?? ''
  }

  /** HTML with its line breaks as they were asked for. An entity in the text can spell a carriage return, too. */
  #encode(html: string): string {
    const lines = this.#lineBreak === '\n' ? html : html.replaceAll('\n', this.#lineBreak)
    return lines.includes('\r') ? lines.replaceAll('\r', '&#13;') : lines
  }
}

type CoreRule = (state: StateCore) => void

function rulesOf(ruler: Ruler<[StateCore], void>, names: string[]): readonly CoreRule[] {
  ruler.enableOnly(names)
  return ruler.getRules('')
}
