import MarkdownIt, { type Token } from 'markdown-it'
import { safeText } from '../safe-text.ts'
import type { CodeHighlighting } from './highlighter.ts'
import { style } from './style.ts'
import { type Alignment, type Cell, tableLines } from './table.ts'
import { wrapped } from './wrapping.ts'

/** Minimum width for text, however deeply nested. */
const WIDTH_MIN = 10

const BULLET = '• '
const QUOTE = '│ '

/**
 * Without links by reference: their definitions may come in another block, so both are shown as they are written. Otherwise
 * the addresses would be lost.
 */
const markdown = new MarkdownIt().disable('reference')

const DEFINITION = /(?<=^|\n[ \t]*)\[[^\]\n]+\]:(?: +\w+:\S+)?/y

// An address keeps its underscores, which would otherwise set the text between them in bold.
markdown.inline.ruler.before('link', 'definition', (state, silent) => {
  DEFINITION.lastIndex = state.pos
  const [content = ''] = DEFINITION.exec(state.src) ?? []
  if (content !== '' && !silent) state.push('definition', '', 0).content = content
  state.pos += content.length
  return content !== ''
})

/** Lays out markdown in lines for a terminal of this width. Code is not wrapped, so that it can be copied. */
export function markdownLines(text: string, width: number, highlighting: CodeHighlighting): string[] {
  return blockLines(nodesOf(markdown.parse(text, {})), Math.max(width, WIDTH_MIN), highlighting)
}

/** A token, with the nodes of the element that it opens. */
interface Node {
  readonly token: Token
  readonly inner: readonly Node[]
}

function nodesOf(tokens: readonly Token[]): Node[] {
  const nodes: Node[] = []
  const open = [nodes]
  for (const token of tokens) {
    const inner: Node[] = []
    if (token.nesting === -1) open.pop()
    else open.at(-1)?.push({ token, inner })
    if (token.nesting === 1) open.push(inner)
  }
  return nodes
}

function blockLines(nodes: readonly Node[], width: number, highlighting: CodeHighlighting): string[] {
  const lines: string[] = []
  let afterHidden = false
  for (const node of nodes) {
    // There are no blank lines around the (hidden) paragraphs of a tight list.
    const { hidden } = node.token
    if (lines.length > 0 && !hidden && !afterHidden) lines.push('')
    lines.push(...nodeLines(node, width, highlighting))
    afterHidden = hidden
  }
  return lines
}

function nodeLines({ token, inner }: Node, width: number, highlighting: CodeHighlighting): string[] {
  switch (token.type) {
    case 'heading_open':
      return wrapped(style.heading(inlineText(inner)), width)
    case 'bullet_list_open':
      return listLines(inner, () => BULLET, width, highlighting)
    case 'ordered_list_open': {
      const start = Number(token.attrGet('start') ?? 1)
      return listLines(inner, index => `${start + index}. `, width, highlighting)
    }
    case 'blockquote_open':
      return indented(blockLines(inner, narrower(width, QUOTE.length), highlighting), style.faint(QUOTE))
    case 'fence':
    case 'code_block':
      return codeLines(token, highlighting)
    case 'hr':
      return [style.faint('─'.repeat(width))]
    case 'table_open':
      return tableLines(tableRows(inner), width)
    default:
      return wrapped(inlineText(inner), width)
  }
}

function listLines(
  items: readonly Node[],
  marker: (index: number) => string,
  width: number,
  highlighting: CodeHighlighting,
): string[] {
  return items.flatMap(({ inner }, index) => {
    const mark = marker(index)
    const [first = '', ...rest] = blockLines(inner, narrower(width, mark.length), highlighting)
    const lines = [style.mark(mark) + first, ...indented(rest, ' '.repeat(mark.length))]
    return index > 0 && inner.some(isLoose) ? ['', ...lines] : lines
  })
}

/** Only the paragraphs of a tight list are hidden. */
function isLoose({ token, inner }: Node): boolean {
  return (token.type === 'paragraph_open' && !token.hidden) || inner.some(isLoose)
}

function codeLines({ info, markup, content, map }: Token, highlighting: CodeHighlighting): string[] {
  const [label = ''] = info.trim().split(/\s/, 1)
  const lines = safeText(content).replace(/\n$/, '').split('\n').map(highlighting(label))
  if (markup === '') return lines
  const [first = 0, end = 0] = map ?? []
  // While its fence is open, the code may grow, and only the last line of an answer may do so beyond the screen.
  const isClosed = end - first > 1 + (content === '' ? 0 : lines.length)
  return [style.faint(markup + label), ...lines, ...(isClosed ? [style.faint(markup)] : [])]
}

function tableRows(parts: readonly Node[]): Cell[][] {
  const rows = parts.flatMap(({ inner }) => inner)
  return rows.map(({ inner: cells }) =>
    cells.map(({ token, inner }) => ({ text: inlineText(inner), alignment: alignmentOf(token) })),
  )
}

function alignmentOf(token: Token): Alignment {
  const [, alignment] = /text-align:(left|center|right)/.exec(attribute(token, 'style')) ?? []
  return alignment === 'center' || alignment === 'right' ? alignment : 'left'
}

/** Styled text, not yet wrapped. */
function inlineText(nodes: readonly Node[]): string {
  const inline = nodes.find(({ token }) => token.type === 'inline')
  return styledText(nodesOf(inline?.token.children ?? []))
}

function styledText(nodes: readonly Node[]): string {
  return nodes
    .map(({ token, inner }, index) => {
      switch (token.type) {
        case 'strong_open':
          return style.strong(styledText(inner))
        case 'em_open':
          return style.emphasis(styledText(inner))
        case 's_open':
          return style.deleted(styledText(inner))
        case 'link_open':
          return linkText(styledText(inner), attribute(token, 'href'))
        case 'image':
          return linkText(safeText(token.content), attribute(token, 'src'))
        case 'code_inline':
          return style.code(safeText(token.content))
        case 'softbreak':
          // Each definition of a link stays on a line of its own.
          return nodes[index + 1]?.token.type === 'definition' ? '\n' : ' '
        case 'hardbreak':
          return '\n'
        default:
          // An entity can stand for a control character.
          return safeText(token.content).replaceAll('\t', ' ')
      }
    })
    .join('')
}

function attribute(token: Token, name: string): string {
  return safeText(String(token.attrGet(name) ?? ''))
}

/** Shows the address, so that the reader sees where the link leads. */
function linkText(text: string, address: string): string {
  return text === address || text === '' ? style.link(address) : `${style.link(text)} ${style.faint(`(${address})`)}`
}

function indented(lines: readonly string[], indentation: string): string[] {
  return lines.map(line => (line === '' ? indentation.trimEnd() : indentation + line))
}

function narrower(width: number, by: number): number {
  return Math.max(width - by, WIDTH_MIN)
}
