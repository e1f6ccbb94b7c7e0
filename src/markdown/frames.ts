/** Whether a list's items stand apart, so that their paragraphs get tags, as far as the text goes now. */
export interface Spacing {
  loose: boolean
}

/** A block quote or a list that is still open. */
export type Frame = { readonly kind: 'quote' } | ListFrame

export interface ListFrame {
  readonly kind: 'list'
  /** A bullet, or a number as long as the item's with its delimiter. */
  readonly marker: string
  /** The column at which the open item's content begins, in its container; null between two items. */
  readonly content: number | null
  /** Whether the finished text makes it loose already. */
  readonly loose: boolean
  readonly spacing: Spacing
}

/** A block without blocks in it that is still open, and goes on with the next line (a paragraph: in its line). */
export type Leaf =
  | { readonly kind: 'fence'; readonly column: number; readonly marks: string }
  | { readonly kind: 'code' }
  | { readonly kind: 'table'; readonly alignments: readonly string[] }
  | { readonly kind: 'paragraph' }

/** Text that opens the same blocks as the finished text left open, so that the open text after it parses as it should. */
export interface Skeleton {
  readonly text: string
  readonly lines: number
  /** How many tokens it makes. A fence, code or a paragraph that goes on is not among them. */
  readonly tokens: number
  /** Each list's spacing, and the index of a token that is hidden exactly if the list is tight. */
  readonly lists: readonly { readonly spacing: Spacing; readonly probe: number }[]
}

const HEADING_TOKENS = 3
/** A list with an item that holds a paragraph and a heading. */
const ITEM_TOKENS = 5 + HEADING_TOKENS
/** Tokens of a table's cell, and of the rest of a table with a header and one row. */
const CELL_TOKENS = 3
const TABLE_TOKENS = 8
/** Between an item's marker and its content there is at most this; more would be indented code. */
const MARKER_SPACE_MAX = 4

/** The line of indented code that stands for those that are finished. */
export const CODE_PLACEHOLDER = 'x\n'

/** Builds the skeleton of these open blocks, the outermost first. */
export function buildSkeleton(frames: readonly Frame[], leaf: Leaf | null): Skeleton {
  const lines: string[] = []
  const lists: Skeleton['lists'][number][] = []
  let tokens = 0
  let quotes = ''
  let column = 0
  for (const frame of frames) {
    if (frame.kind === 'quote') {
      quotes += `${' '.repeat(column)}> `
      column = 0
      tokens += 1
    } else {
      const { marker } = frame
      const content = frame.content ?? column + marker.length + MARKER_SPACE_MAX
      const start = Math.max(column, content - marker.length - MARKER_SPACE_MAX)
      lines.push(`${quotes}${' '.repeat(start)}${marker}${' '.repeat(content - start - marker.length)}x`)
      if (frame.loose) lines.push(quotes)
      lines.push(`${quotes}${' '.repeat(content)}# x`)
      lists.push({ spacing: frame.spacing, probe: tokens + 2 })
      tokens += ITEM_TOKENS
      if (frame.content === null) tokens += 1
      else column = content
    }
  }
  if (!leaf && frames.at(-1)?.kind === 'quote') {
    // A line that goes on with a quote may be indented more than one that begins it.
    lines.push(`${quotes}# x`)
    tokens += HEADING_TOKENS
  }
  const ended = lines.map(line => `${line}\n`).join('')
  const indent = quotes + ' '.repeat(column)
  switch (leaf?.kind) {
    case 'fence':
      // Without its info string, which could make a table's header of it. What it says is known to the code.
      return {
        text: `${ended}${quotes}${' '.repeat(leaf.column)}${leaf.marks}\n`,
        lines: lines.length + 1,
        tokens,
        lists,
      }
    case 'code':
      return { text: `${ended}${indent}    ${CODE_PLACEHOLDER}`, lines: lines.length + 1, tokens, lists }
    case 'table': {
      const row = `${indent}${'|x'.repeat(leaf.alignments.length)}|\n`
      const delimiters = `${indent}|${leaf.alignments.map(delimiterOf).join('|')}|\n`
      const cells = 2 * CELL_TOKENS * leaf.alignments.length
      const text = `${ended}${row}${delimiters}${row}`
      return { text, lines: lines.length + 3, tokens: tokens + TABLE_TOKENS + cells, lists }
    }
    case 'paragraph':
      return { text: `${ended}${indent}x`, lines: lines.length, tokens, lists }
    case undefined:
      return { text: ended, lines: lines.length, tokens, lists }
  }
}

function delimiterOf(alignment: string): string {
  switch (alignment) {
    case 'left':
      return ':-'
    case 'right':
      return '-:'
    case 'center':
      return ':-:'
    default:
      return '--'
  }
}
