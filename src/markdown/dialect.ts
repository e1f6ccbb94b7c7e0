import MarkdownIt, { type Env, type StateBlock, type StateCore, type StateInline, type Token } from 'markdown-it'
import { CODE_END, type CodeLines, type Highlighter } from './code.ts'
import { makeSafe, UNNEST_LINKS } from './safety.ts'

type Definitions = NonNullable<Env['references']>

/** How HTML breaks its lines; as an entity, it is one line, as an event stream's data must be. */
export type LineBreak = '\n' | '&#10;'

/** The deepest nesting that is parsed; what lies deeper is dropped, as markdown-it does. */
const NESTING_MAX = 100

/** The columns at which a block begins, in its container. */
export interface Columns {
  /** How far the content of the enclosing list item is indented. */
  readonly content: number
  /** How far the block itself is indented. */
  readonly block: number
}

/** The blocks of a text: markdown-it's tokens, not yet parsed within their lines. */
export interface Blocks {
  readonly tokens: Token[]
  /** Where a block that begins in this line, at this level, begins. */
  columns(line: number, level: number): Columns
}

/**
 * CommonMark with GFM's tables, strikethrough and bare links, as markdown-it reads and writes it, with the safety rules
 * and the highlighter. Parsing is split in its two phases, so that a stream can do each where it is needed.
 */
export class Dialect {
  readonly #markdown = new MarkdownIt({ linkify: true, maxNesting: NESTING_MAX })
  readonly #highlighter: Highlighter
  readonly #lineBreak: LineBreak
  readonly #parseBlocks: (state: StateCore) => void
  readonly #parseInlines: readonly ((state: StateCore) => void)[]
  #columns = new Map<number, Columns>()
  #isClosed = true

  constructor(highlighter: Highlighter, lineBreak: LineBreak) {
    this.#highlighter = highlighter
    this.#lineBreak = lineBreak
    const markdown = this.#markdown
    makeSafe(markdown)
    // "main.py" is no link to a site in Paraguay.
    markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
    markdown.core.ruler.enableOnly(['block'])
    const [parseBlocks] = markdown.core.ruler.getRules('')
    if (!parseBlocks) throw new Error('markdown-it has no block rule')
    this.#parseBlocks = parseBlocks
    markdown.core.ruler.enableOnly(['inline', 'linkify', 'text_join', UNNEST_LINKS])
    this.#parseInlines = markdown.core.ruler.getRules('')
    markdown.block.ruler.before('table', 'columns', (state, line) => this.#noteColumns(state, line))
    markdown.inline.ruler2.after('strikethrough', 'closed', state => {
      this.#isClosed = isClosed(state)
    })
    markdown.renderer.rules.fence = (tokens, index) => this.#fence(tokens[index])
    markdown.renderer.rules.code_block = (tokens, index) => this.#code('', tokens[index]?.content ?? '')
  }

  /** Finds the blocks of text that is in `SourceText`'s form; puts the link reference definitions into `definitions`. */
  blocks(text: string, definitions: Definitions): Blocks {
    const columns = new Map<number, Columns>()
    this.#columns = columns
    const state = new this.#markdown.core.State(text, this.#markdown, { references: definitions })
    this.#parseBlocks(state)
    return {
      tokens: state.tokens,
      columns(line, level) {
        const found = columns.get(columnsKey(line, level))
        if (!found) throw new Error(`no block begins in line ${line} at level ${level}`)
        return found
      },
    }
  }

  /** Parses the content of all inline tokens among these. */
  inlines(tokens: Token[], definitions: Definitions): void {
    for (const token of tokens) if (token.type === 'inline') token.children = []
    const state = new this.#markdown.core.State('', this.#markdown, { references: definitions })
    state.tokens = tokens
    for (const parse of this.#parseInlines) parse(state)
  }

  /**
   * HTML of inline text, and whether it is closed: nothing that follows after white space can change how it renders
   * (no delimiter waits for its other half).
   */
  inline(text: string, definitions: Definitions): { html: string; isClosed: boolean } {
    const token = new this.#markdown.core.State('', this.#markdown, {}).Token
    const inline = new token('inline', '', 0)
    inline.content = text
    this.inlines([inline], definitions)
    return { html: this.write([inline], 0, 1), isClosed: this.#isClosed }
  }

  /** HTML of the tokens from index `from` to before `to`; it looks at the neighbours of these too. */
  write(tokens: Token[], from: number, to: number): string {
    const { renderer, options } = this.#markdown
    let html = ''
    for (let index = from; index < to; index++) {
      const token = tokens[index]
      if (!token) break
      const rule = renderer.rules[token.type]
      if (token.type === 'inline') html += renderer.renderInline(token.children ?? [], options, undefined)
      else if (rule) html += rule(tokens, index, options, undefined, renderer)
      else html += renderer.renderToken(tokens, index, options)
    }
    return this.encode(html)
  }

  /** HTML with its line breaks as they were asked for. An entity in the text can spell a carriage return, too. */
  encode(html: string): string {
    const lines = this.#lineBreak === '\n' ? html : html.replaceAll('\n', this.#lineBreak)
    return lines.includes('\r') ? lines.replaceAll('\r', '&#13;') : lines
  }

  /** The beginning of a code block; `info` is what stands behind a fence's marks. */
  openCode(info: string): { html: string; lines: CodeLines } {
    const [label = ''] = this.#markdown.utils.unescapeAll(info).trim().split(/\s/, 1)
    return this.#highlighter.open(label)
  }

  #fence(token: Token | undefined): string {
    return this.#code(token?.info ?? '', token?.content ?? '')
  }

  #code(info: string, content: string): string {
    const { html, lines } = this.openCode(info)
    return html + lines.append(content).html + CODE_END
  }

  /** Stands before all block rules and never matches: it sees where each block begins. */
  #noteColumns(state: StateBlock, line: number): false {
    this.#columns.set(columnsKey(line, state.level), { content: state.blkIndent, block: state.sCount[line] ?? 0 })
    return false
  }
}

function columnsKey(line: number, level: number): number {
  return line * 2 * NESTING_MAX + level
}

/** Brackets that a later definition may make a link of, which is found out by their label; nothing else can. */
const CLOSED_BRACKETS = /\[[^[\]]*\](?![[(])/g
/** In text that no markup has consumed, these may still become the beginning of some. */
const MAYBE_OPENING = /[`[]/

function isClosed({ delimiters, tokens }: StateInline): boolean {
  if (delimiters.some(delimiter => delimiter.open && delimiter.end < 0)) return false
  const text = tokens.map(token => (token.type === 'text' ? token.content : '\0')).join('')
  return !MAYBE_OPENING.test(text.replace(CLOSED_BRACKETS, ''))
}
