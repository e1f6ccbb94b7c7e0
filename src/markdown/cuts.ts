import type { Token } from 'markdown-it'
import type { Blocks } from './dialect.ts'
import type { Frame, ListFrame, Skeleton, Spacing } from './frames.ts'

/** A skeleton and the open text after it, parsed into blocks. */
export interface Reading {
  readonly skeleton: Skeleton
  /** Both, as one text. */
  readonly text: string
  readonly lines: Lines
  readonly tokens: Token[]
  readonly columns: Blocks['columns']
}

/** Reads the open text behind a skeleton into blocks. */
export function readingOf(skeleton: Skeleton, open: string, parse: (text: string) => Blocks): Reading {
  const text = skeleton.text + open
  const { tokens, columns } = parse(text)
  return { skeleton, text, lines: new Lines(text), tokens, columns }
}

/** Where the lines of a text begin and end. */
class Lines {
  readonly #text: string
  /** A last line without its line break counts. */
  readonly #starts: number[] = []

  constructor(text: string) {
    this.#text = text
    for (let start = 0; start < text.length; ) {
      this.#starts.push(start)
      const lineBreak = text.indexOf('\n', start)
      start = lineBreak < 0 ? text.length : lineBreak + 1
    }
  }

  get count(): number {
    return this.#starts.length
  }

  /** The offset at which a line begins; the text's length for the line after the last. */
  start(line: number): number {
    return this.#starts[line] ?? this.#text.length
  }

  /** Whether a line has nothing but white space behind the marks of so many block quotes. */
  isBlank(line: number, quotes: number): boolean {
    let marks = 0
    for (let index = this.start(line); index < this.start(line + 1); index++) {
      const character = this.#text[index]
      if (character === '>') marks += 1
      else if (character !== ' ' && character !== '\t' && character !== '\n') return false
    }
    return marks <= quotes
  }

  /** Whether the lines above this one, up to a blank one or to the line `first`, have a quote's mark anywhere. */
  hasQuoteAbove(line: number, first: number): boolean {
    for (let above = line - 1; above >= first && !this.isBlank(above, 0); above--) {
      if (this.#text.slice(this.start(above), this.start(above + 1)).includes('>')) return true
    }
    return false
  }
}

/**
 * A place before which nothing can change any more, whatever follows: the beginning of a block or of a list item in
 * lines that are complete.
 */
export interface Cut {
  /** The first token behind it. */
  readonly token: number
  /** The line that this token begins with. */
  readonly line: number
}

/** Blocks that end what is before them without a blank line, wherever that stands. */
const ALWAYS_ENDING = new Set(['fence', 'hr', 'bullet_list_open', 'ordered_list_open', 'list_item_open'])
const CONTAINER_ENDS = new Set(['list_item_close', 'bullet_list_close', 'ordered_list_close', 'blockquote_close'])
const HEADINGS = new Set(['heading_open', 'heading_close'])
const BLOCKS = new Set([
  ...ALWAYS_ENDING,
  'blockquote_open',
  'paragraph_open',
  'heading_open',
  'code_block',
  'table_open',
  'reference_definition',
])

/** Finds the last cut of a reading, or null if there is none behind its beginning. */
export function lastCut(reading: Reading): Cut | null {
  const { tokens, skeleton, lines } = reading
  for (let token = tokens.length - 1; token >= skeleton.tokens; token--) {
    const line = tokens[token]?.map?.[0]
    if (line === undefined || line < skeleton.lines) continue
    if (line === skeleton.lines && token === skeleton.tokens) return null
    // A table's second line decides what its first one is, so a block is known when the line after its first is there.
    if (line + 2 <= lines.count && isCut(reading, token)) return { token, line }
  }
  return null
}

/** The last block that holds no other blocks: the index of its last token. */
export function lastLeaf(tokens: readonly Token[]): number {
  let index = tokens.length - 1
  while (CONTAINER_ENDS.has(tokens[index]?.type ?? '')) index -= 1
  return index
}

/**
 * Whether what is before this leaf block is final, although the leaf itself, or the item that begins with it, is not yet
 * known to its end. There must be no definitions before it: they would be lost.
 */
export function followsFinal(reading: Reading, leaf: number): boolean {
  const { tokens, skeleton } = reading
  const line = tokens[leaf]?.map?.[0]
  if (line === undefined || leaf < skeleton.tokens) return false
  let outermost = leaf
  while (
    outermost > skeleton.tokens &&
    tokens[outermost - 1]?.nesting === 1 &&
    tokens[outermost - 1]?.map?.[0] === line
  )
    outermost -= 1
  if (line !== skeleton.lines && !isCut(reading, outermost)) return false
  return !tokens.slice(skeleton.tokens, leaf).some(token => token.type === 'reference_definition')
}

/** Whether the block that begins with this token may be cut off from what is before it, given its first two lines. */
export function isCut(reading: Reading, index: number): boolean {
  const token = reading.tokens[index]
  const line = token?.map?.[0]
  if (!token || line === undefined || !BLOCKS.has(token.type)) return false
  return isOutermost(reading.tokens, index, line) && endsWhatIsBefore(reading, index)
}

/** How a list item or a block quote begins depends on the first block in it, so that one stays with it. */
function isOutermost(tokens: readonly Token[], index: number, line: number): boolean {
  let before = index - 1
  while (tokens[before]?.type === 'reference_definition') before -= 1
  const previous = tokens[before]
  if (previous?.type === 'list_item_open' || previous?.type === 'blockquote_open') return false
  return !(previous?.nesting === 1 && previous.map?.[0] === line)
}

/**
 * The label or the title of a link reference definition may span lines. Until it is complete, its lines are taken for
 * other blocks, even some outside of the list item or the quote that it begins in. Only a blank line or a block of a kind
 * that ends any such definition separates.
 */
function endsWhatIsBefore({ tokens, lines, skeleton }: Reading, index: number): boolean {
  const token = tokens[index]
  const line = token?.map?.[0]
  if (!token || line === undefined) return false
  if (ALWAYS_ENDING.has(token.type) || isHeadingLine(token)) return true
  const previous = tokens[index - 1]
  if (previous?.type === 'hr' || previous?.type === 'fence' || isHeadingLine(previous)) return true
  // As seen from within another quote, a quote's line may be the next line of the same.
  if (token.type === 'blockquote_open' && !lines.hasQuoteAbove(line, skeleton.lines)) return true
  // As seen from within a list item, a table further out is text.
  if (token.type === 'table_open' && previous?.type === 'paragraph_close') return true
  // One definition ends another; then what matters is what is before the first.
  let first = index
  while (isDefinition(tokens[first]) && isDefinition(tokens[first - 1]) && meet(tokens[first - 1], tokens[first]))
    first -= 1
  const begin = tokens[first]?.map?.[0] ?? 0
  return begin === skeleton.lines || lines.isBlank(begin - 1, Number.POSITIVE_INFINITY)
}

/** Not one that is a paragraph until it is underlined. */
function isHeadingLine(token: Token | undefined): boolean {
  return token !== undefined && HEADINGS.has(token.type) && token.markup.startsWith('#')
}

function isDefinition(token: Token | undefined): boolean {
  return token?.type === 'reference_definition'
}

function meet(before: Token | undefined, after: Token | undefined): boolean {
  return before?.map?.[1] === after?.map?.[0]
}

/** A list or quote that is open at a cut. */
interface OpenBlock {
  readonly token: number
  /** Null for a quote. */
  readonly list: OpenList | null
}

interface OpenList {
  readonly spacing: Spacing
  loose: boolean
  item: Token | null
  itemLine: number
  children: number
}

/** The frames that are open at a cut, each list with the token that opens it. */
export interface OpenFrames {
  readonly frames: readonly Frame[]
  readonly lists: readonly { readonly frame: ListFrame; readonly token: number }[]
}

/** Finds what is open before the token `cut`, a block or a list item. `frames` are those of the reading's skeleton. */
export function framesAt(reading: Reading, frames: readonly Frame[], cut: number): OpenFrames {
  const { tokens, lines, skeleton } = reading
  const spacings = frames.filter(frame => frame.kind === 'list').map(frame => frame.spacing)
  const open: OpenBlock[] = []
  let quotes = 0
  const begin = (token: Token): void => {
    const list = open.at(-1)?.list
    const line = token.map?.[0] ?? 0
    if (!list) return
    if (token.type === 'list_item_open') {
      if (list.itemLine >= 0 && line - list.itemLine > 1 && lines.isBlank(line - 1, quotes)) list.loose = true
      list.item = token
      list.itemLine = line
      list.children = 0
    } else {
      if (list.children > 0 && lines.isBlank(line - 1, quotes)) list.loose = true
      list.children += 1
    }
  }
  for (let index = 0; index < cut; index++) {
    const token = tokens[index]
    if (!token) break
    if (BLOCKS.has(token.type)) begin(token)
    switch (token.type) {
      case 'bullet_list_open':
      case 'ordered_list_open': {
        const spacing = (index < skeleton.tokens ? spacings.shift() : undefined) ?? { loose: false }
        open.push({ token: index, list: { spacing, loose: false, item: null, itemLine: -1, children: 0 } })
        break
      }
      case 'blockquote_open':
        open.push({ token: index, list: null })
        quotes += 1
        break
      case 'blockquote_close':
        quotes -= 1
        open.pop()
        break
      case 'bullet_list_close':
      case 'ordered_list_close':
        open.pop()
    }
  }
  const atCut = tokens[cut]
  if (atCut) begin(atCut)
  const lists: { frame: ListFrame; token: number }[] = []
  const opened = open.map(({ token, list }, depth): Frame => {
    if (!list) return { kind: 'quote' }
    const child = tokens[open[depth + 1]?.token ?? cut]
    const frame = listFrame(reading, list, child)
    lists.push({ frame, token })
    return frame
  })
  return { frames: opened, lists }
}

/** `child` is the block in the list's open item that is open or begins; or the next item itself. */
function listFrame(reading: Reading, list: OpenList, child: Token | undefined): ListFrame {
  const { spacing, loose, item } = list
  const delimiter = item?.markup ?? '-'
  if (!child || child.type === 'list_item_open') {
    return { kind: 'list', marker: item?.info ? `1${delimiter}` : delimiter, content: null, loose, spacing }
  }
  const marker = item?.info ? '1'.padStart(item.info.length, '0') + delimiter : delimiter
  const { content } = reading.columns(child.map?.[0] ?? 0, child.level)
  return { kind: 'list', marker, content, loose, spacing }
}
