import type { Token } from 'markdown-it'
import { withoutHalf } from '../limits/code-points.ts'

/** A text and its blocks. */
export interface Parsed {
  readonly text: string
  readonly blocks: Token[]
}

/** A boundary between two sections. */
interface Cut {
  /** The index of the first block after it. */
  readonly block: number
  readonly offset: number
}

/** Other blanks, such as U+2028, are text. https://spec.commonmark.org/0.31.2/#blank-line */
const BLANK_LINE = /^[ \t]*\n$/

/**
 * Finds the boundaries that no further text can change: the HTML before one is final, and the text after it can be parsed
 * alone. A boundary is the start of a top-level block whose first line is complete, and which follows a blank line, is a
 * fence, or follows a closed fence. Otherwise the line could still join the block before it, for example as the title of
 * a link reference definition.
 */
export function naturalCuts({ text, blocks }: Parsed): Cut[] {
  const lines = lineStarts(text)
  const cuts: Cut[] = []
  let previous = ''
  for (const [block, { level, nesting, map, type }] of blocks.entries()) {
    if (level !== 0 || nesting < 0 || !map) continue
    const [line] = map
    const offset = lines[line] ?? 0
    const isComplete = lines[line + 1] !== undefined
    const isApart = type === 'fence' || previous === 'fence' || BLANK_LINE.test(text.slice(lines[line - 1], offset))
    if (line > 0 && isComplete && isApart) cuts.push({ block, offset })
    previous = type
  }
  return cuts
}

/** A cut in a section that has grown too long. */
interface ForcedCut {
  readonly offset: number
  /** Repeated before the next section's text: the head of a table, so that the table continues. */
  readonly head: string
}

/**
 * Cuts a section that has grown too long: before its last block or list item, else after the open fence, else before its
 * last line, else anywhere. Returns `null` while that fence has no end. `beginning` is the section up to the limit,
 * `parseAll` parses all of it, and `start` is the length of the repeated table head.
 */
export function forcedCut(beginning: Parsed, parseAll: () => Parsed, start: number): ForcedCut | null {
  const { text, blocks } = beginning
  const lines = lineStarts(text)
  const offsetOf = ({ map }: Token) => lines[map?.[0] ?? 0] ?? 0
  const last = blocks.findLast(block => isDivider(block) && offsetOf(block) > start)
  if (last) return { offset: offsetOf(last), head: '' }
  const fence = openFence(beginning)
  if (fence) return endOfFence(fence, parseAll())
  const line = lines.findLast(offset => offset > start)
  const head = blocks.at(-1)?.type === 'table_close' ? text.slice(0, lines[2]) : ''
  return { offset: line ?? withoutHalf(text).length, head }
}

function isDivider({ level, nesting, type }: Token): boolean {
  return (level === 0 && nesting >= 0) || (level === 1 && type === 'list_item_open')
}

/** The last block, at any depth of lists and quotes, if it is a fence that no line closes. */
function openFence({ blocks }: Parsed): Token | null {
  const last = blocks.findLast(({ nesting }) => nesting >= 0)
  return last?.type === 'fence' && !isClosed(last) ? last : null
}

/** The start of the first line after a fence, once that line is complete. Until then it may belong to the fence. */
function endOfFence({ map }: Token, { text, blocks }: Parsed): ForcedCut | null {
  const fence = blocks.find(({ type, map: found }) => type === 'fence' && found?.[0] === map?.[0])
  const lines = lineStarts(text)
  const end = fence?.map?.[1] ?? lines.length
  return lines[end + 1] === undefined ? null : { offset: lines[end] ?? text.length, head: '' }
}

/** A fence spans its opening line, the lines of its code and, if it is closed, one more line. */
function isClosed({ content, map }: Token): boolean {
  const [from = 0, to = 0] = map ?? []
  const codeLines = content.split('\n').length - (content === '' || content.endsWith('\n') ? 1 : 0)
  return to - from > 1 + codeLines
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let lineBreak = text.indexOf('\n'); lineBreak >= 0; lineBreak = text.indexOf('\n', lineBreak + 1)) {
    starts.push(lineBreak + 1)
  }
  return starts
}
