import type { Token } from 'markdown-it'

/** A text and its blocks. */
export interface Parsed {
  readonly text: string
  readonly blocks: Token[]
}

/** A place between two sections. */
interface Cut {
  /** The index of the first block behind it. */
  readonly block: number
  readonly offset: number
}

/**
 * Finds the places that divide a text for good: whatever follows, what is before such a place keeps its HTML, and what is
 * behind it can be parsed without it. Each is the beginning of a top-level block whose first line is complete, and that
 * follows a blank line, begins with a fence, or follows a closed fence. Without one of these the line might still become
 * part of the block before it, such as the title of a link reference definition.
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
    const isApart = type === 'fence' || previous === 'fence' || text.slice(lines[line - 1], offset).trim() === ''
    if (line > 0 && isComplete && isApart) cuts.push({ block, offset })
    previous = type
  }
  return cuts
}

/** Where a section ends that has grown too long. */
interface ForcedCut {
  readonly offset: number
  /** What the next section repeats before its own text: the head of a table, so that the table goes on. */
  readonly head: string
}

/**
 * Where to end a section that has grown too long: before its last block or its last list item, else behind the fence that
 * is open, else before its last line, else anywhere. `null` while that fence has no end. `beginning` is as much of the
 * section as is allowed, `parseAll` gives all of it, and `start` is where the text begins that it does not repeat.
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
  const endsInHalfACharacter = /[\uD800-\uDBFF]$/.test(text)
  const head = blocks.at(-1)?.type === 'table_close' ? text.slice(0, lines[2]) : ''
  return { offset: line ?? text.length - (endsInHalfACharacter ? 1 : 0), head }
}

function isDivider({ level, nesting, type }: Token): boolean {
  return (level === 0 && nesting >= 0) || (level === 1 && type === 'list_item_open')
}

/** The fence that is the last block, in whatever lists and quotes, if no line closes it. */
function openFence({ blocks }: Parsed): Token | null {
  const last = blocks.findLast(({ nesting }) => nesting >= 0)
  return last?.type === 'fence' && !isClosed(last) ? last : null
}

/** Where the first line after a fence begins, once that line is complete: until then it may be one more of the fence. */
function endOfFence({ map }: Token, { text, blocks }: Parsed): ForcedCut | null {
  const fence = blocks.find(({ type, map: found }) => type === 'fence' && found?.[0] === map?.[0])
  const lines = lineStarts(text)
  const end = fence?.map?.[1] ?? lines.length
  return lines[end + 1] === undefined ? null : { offset: lines[end] ?? text.length, head: '' }
}

/** A fence spans the lines of its code, the line before them, and if it is closed, one after them. */
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
