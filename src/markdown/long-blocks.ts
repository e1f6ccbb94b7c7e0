import type { Token } from 'markdown-it'
import { followsFinal, framesAt, lastLeaf, type Reading } from './cuts.ts'
import { Finished } from './finished.ts'
import { joined, type Place, placeIn, type Workshop } from './place.ts'

/**
 * A paragraph or a table at the end of the open text that has grown long. Its first part is rendered and not read any
 * more; but unlike what is finished it stays in the open text, for it may turn out to be something else.
 */
export interface LongBlock {
  /** Behind the first part. */
  readonly place: Place
  /** Where that is, in the open text. */
  readonly start: number
  /** The blocks before it in the open text, and these labels that its first part asked for. */
  readonly before: Finished
  readonly labels: ReadonlySet<string>
  /** Whether the reading of what follows shows that it is still what it was taken for. */
  holds(reading: Reading): boolean
  /** HTML from its beginning to the end of the reading. */
  write(reading: Reading): string
  /** Renders more of it for good, if it is the last block of the reading. */
  grow(reading: Reading, linesAreComplete: boolean): void
}

/** A paragraph that is shorter is read whole with each piece. */
export const LONG_PARAGRAPH_CHARACTERS = 400
/** So much of it is read before another part of it is rendered for good. */
const PARAGRAPH_STEP_CHARACTERS = 200
/** If that was not possible, so many times as much. */
export const PATIENCE_GROWTH = 1.25

/** A line with one of these in it is a line of the paragraph whatever follows: no rule, no underline, no list item. */
const WORD = /[^-_*=+|:`~#>\d.)\s\\[\]]/

export class LongParagraph implements LongBlock {
  place: Place
  start: number
  readonly before: Finished
  readonly labels: Set<string>
  #html: string
  #patience = PARAGRAPH_STEP_CHARACTERS
  /** Whether the next line can make a table of this one, of which the marks of list and quote are then a part. */
  #mayBeHeader: boolean
  readonly #workshop: Workshop

  private constructor(place: Place, before: Finished, head: Head, mayBeHeader: boolean, workshop: Workshop) {
    this.place = place
    this.before = before
    this.start = head.end
    this.#mayBeHeader = mayBeHeader
    this.#html = head.html
    this.labels = head.labels
    this.#workshop = workshop
  }

  /** Takes the last block of a reading as a long paragraph, if it is one and can be divided now. */
  static find(reading: Reading, place: Place, workshop: Workshop): LongParagraph | null {
    const last = lastLeaf(reading.tokens)
    const index = last - 2
    const inline = reading.tokens[last - 1]
    if (place.code || reading.tokens[last]?.type !== 'paragraph_close' || !inline) return null
    // With a bracket first it may turn out to be a link reference definition.
    if (inline.content.length < LONG_PARAGRAPH_CHARACTERS || inline.content.startsWith('[')) return null
    if (!reachesEnd(reading, index) || !followsFinal(reading, index)) return null
    const head = headOf(reading, inline.content, workshop)
    if (!head) return null
    const mayBeHeader = head.isInFirstLine && reading.tokens[index - 1]?.map?.[0] === reading.tokens[index]?.map?.[0]
    if (mayBeHeader && inline.content.includes('|')) return null
    const { frames, lists } = framesAt(reading, place.frames, index)
    const tokens = joined(reading, place)
    const before = new Finished(workshop)
    before.add(tokens, reading.skeleton.tokens, index, lists)
    const inside = placeIn(frames, tokens[index - 1] ?? null, { kind: 'paragraph' })
    return new LongParagraph(inside, before, head, mayBeHeader, workshop)
  }

  holds({ tokens, skeleton }: Reading): boolean {
    if (this.#mayBeHeader && tokens[skeleton.tokens + 1]?.content.includes('|')) return false
    return tokens[skeleton.tokens]?.type === 'paragraph_open'
  }

  write(reading: Reading): string {
    const { dialect, references } = this.#workshop
    const index = reading.skeleton.tokens
    const tokens = joined(reading, this.place)
    dialect.inlines(tokens.slice(index), references.definitions)
    const opening = dialect.write(tokens, index, index + 1)
    // Behind the letter that the skeleton put in the place of the first part.
    const rest = dialect.write(tokens, index + 1, index + 2).slice(1)
    return this.before.html + opening + this.#html + rest + dialect.write(tokens, index + 2, tokens.length)
  }

  grow(reading: Reading): void {
    const index = reading.skeleton.tokens
    const content = reading.tokens[index + 1]?.content ?? ''
    if (!reachesEnd(reading, index) || content.length < this.#patience) return
    const head = headOf(reading, content, this.#workshop)
    if (head) {
      this.#html += head.html.slice(1)
      this.start += head.end
      this.#mayBeHeader &&= head.isInFirstLine
      for (const label of head.labels) this.labels.add(label)
    }
    this.#patience = head ? PARAGRAPH_STEP_CHARACTERS : content.length * PATIENCE_GROWTH
  }
}

interface Head {
  readonly html: string
  /** Whether it has no line break. */
  readonly isInFirstLine: boolean
  /** Where it ends, in the open text that was read. */
  readonly end: number
  readonly labels: Set<string>
}

/** Divides a paragraph at the end of a reading before its last space, if nothing that follows can change its head. */
function headOf(reading: Reading, content: string, { dialect, references }: Workshop): Head | null {
  let end = content.lastIndexOf(' ')
  while (content[end - 1] === ' ') end -= 1
  const line = content.slice(content.lastIndexOf('\n', end) + 1, end)
  // Before a backslash the space would matter; with a bar the line may be a table's header.
  if (end < 1 || content.includes('\n', end) || !WORD.test(line) || line.includes('|') || line.endsWith('\\'))
    return null
  const rest = content.length - end
  const textEnd = withoutSpaceAtEnd(reading.text)
  if (reading.text.slice(textEnd - rest, textEnd) !== content.slice(end)) return null
  references.takeAsked()
  const { html, isClosed } = dialect.inline(content.slice(0, end), references.definitions)
  if (!isClosed) return null
  return {
    html,
    isInFirstLine: !content.slice(0, end).includes('\n'),
    end: textEnd - rest - reading.skeleton.text.length,
    labels: references.takeAsked(),
  }
}

function withoutSpaceAtEnd(text: string): number {
  let end = text.length
  while (end > 0 && ' \t\n'.includes(text[end - 1] ?? '')) end -= 1
  return end
}

/** A table that has fewer rows is read whole with each piece. */
const LONG_TABLE_ROWS = 4
/** markdown-it ends a table that lacks more cells than this; so a table with as many must be seen whole. */
const TABLE_CELLS_MAX = 65_536

export class LongTable implements LongBlock {
  readonly place: Place
  start: number
  readonly before: Finished
  readonly labels = new Set<string>()
  #html = ''
  #rows = 0
  readonly #columns: number
  readonly #workshop: Workshop

  private constructor(place: Place, before: Finished, columns: number, workshop: Workshop) {
    this.place = place
    this.start = 0
    this.before = before
    this.#columns = columns
    this.#workshop = workshop
  }

  /** Takes the last block of a reading of complete lines as a long table, if it is one. */
  static find(reading: Reading, place: Place, workshop: Workshop): LongTable | null {
    const { tokens, skeleton } = reading
    const end = lastLeaf(tokens)
    if (place.code || tokens[end]?.type !== 'table_close') return null
    const index = tokens.findLastIndex(token => token.type === 'table_open')
    const rows = countRows(tokens, index)
    if (rows < LONG_TABLE_ROWS || !reachesEnd(reading, index) || !followsFinal(reading, index)) return null
    const alignments = tokens
      .slice(index, end)
      .filter(token => token.type === 'th_open')
      .map(alignmentOf)
    if (rows * alignments.length > TABLE_CELLS_MAX) return null
    const { frames, lists } = framesAt(reading, place.frames, index)
    const before = new Finished(workshop)
    before.add(joined(reading, place), skeleton.tokens, index + 1, lists)
    const table = new LongTable(
      placeIn(frames, null, { kind: 'table', alignments }),
      before,
      alignments.length,
      workshop,
    )
    table.#take(reading, index + 1)
    return table
  }

  holds({ tokens, skeleton }: Reading): boolean {
    return (this.#rows + countRows(tokens, skeleton.tokens)) * this.#columns <= TABLE_CELLS_MAX
  }

  write({ tokens, skeleton }: Reading): string {
    const { dialect, references } = this.#workshop
    dialect.inlines(tokens.slice(skeleton.tokens), references.definitions)
    return this.before.html + this.#html + dialect.write(tokens, skeleton.tokens, tokens.length)
  }

  grow(reading: Reading, linesAreComplete: boolean): void {
    const { tokens, skeleton } = reading
    const index = tokens.findLastIndex((token, at) => at < skeleton.tokens && token.type === 'table_open')
    if (linesAreComplete && reachesEnd(reading, index)) this.#take(reading, skeleton.tokens)
  }

  /** Takes in the rows from this token to the table's end, which is the reading's. */
  #take({ tokens, text, skeleton }: Reading, from: number): void {
    const { dialect, references } = this.#workshop
    const to = tokens.findIndex((token, index) => index >= from && token.type === 'tbody_close')
    references.takeAsked()
    dialect.inlines(tokens.slice(from, to), references.definitions)
    for (const label of references.takeAsked()) this.labels.add(label)
    this.#html += dialect.write(tokens, from, to)
    this.#rows += countRows(tokens, from)
    this.start += text.length - skeleton.text.length
  }
}

function countRows(tokens: readonly Token[], from: number): number {
  let rows = 0
  for (let index = from; index < tokens.length && tokens[index]?.type !== 'table_close'; index++) {
    if (tokens[index]?.type === 'tr_open') rows += 1
  }
  return rows
}

function alignmentOf(cell: Token): string {
  return String(cell.attrGet('style') ?? '').replace('text-align:', '')
}

function reachesEnd({ tokens, lines }: Reading, index: number): boolean {
  return tokens[index]?.map?.[1] === lines.count
}
