import type { Token } from 'markdown-it'
import { CODE_END } from './code.ts'
import { type Cut, framesAt, isCut, lastCut, lastLeaf, type Reading } from './cuts.ts'
import type { Dialect } from './dialect.ts'
import { Finished } from './finished.ts'
import { CODE_PLACEHOLDER, type Frame } from './frames.ts'
import { LONG_PARAGRAPH_CHARACTERS, type LongBlock, LongParagraph, LongTable, PATIENCE_GROWTH } from './long-blocks.ts'
import { BEGINNING, joined, type OpenCode, type Place, placeIn, placeInCode, read, type Workshop } from './place.ts'
import { References } from './references.ts'
import { SourceText } from './source-text.ts'

/** Markdown that arrives in pieces, and the HTML of what has arrived: exactly that of the same text in one go. */
export class MarkdownStream {
  readonly #source = new SourceText()
  readonly #workshop: Workshop
  readonly #finished: Finished
  /** Where the finished text ends. */
  #place = BEGINNING
  /** The text behind that. */
  #open = ''
  #long: LongBlock | null = null
  /** The length of the open text from which on a long paragraph is looked for. */
  #patience = LONG_PARAGRAPH_CHARACTERS
  #hasNewLine = false
  #html: string | null = ''

  constructor(dialect: Dialect) {
    this.#workshop = { dialect, references: new References() }
    this.#finished = new Finished(this.#workshop)
  }

  /** Adds the next piece. It may end anywhere, even between the halves of a character or of a line break. */
  append(piece: string): void {
    const text = this.#source.next(piece)
    if (text === '') return
    this.#open += text
    this.#hasNewLine ||= text.includes('\n')
    this.#html = null
  }

  /** HTML of the whole text so far. */
  html(): string {
    if (this.#html === null) {
      if (this.#hasNewLine) this.#finishLines()
      this.#hasNewLine = false
      this.#html = this.#writeAll()
    }
    return this.#html
  }

  /** Reads the open text, or so much of it, from the long block's rendered part on if there is one. */
  #read(length = this.#open.length): { reading: Reading; long: LongBlock | null } {
    const long = this.#long
    const reading = read(this.#open.slice(long?.start ?? 0, length), long?.place ?? this.#place, this.#workshop)
    const changed = this.#workshop.references.changed()
    this.#finished.relink(changed)
    this.#finished.respace(reading.skeleton.lists)
    if (!long) return { reading, long }
    if (!long.holds(reading) || changed.some(label => long.labels.has(label))) {
      this.#long = null
      return this.#read(length)
    }
    long.before.relink(changed)
    long.before.respace(reading.skeleton.lists)
    return { reading, long }
  }

  /** HTML of everything, as if the text ended here. */
  #writeAll(): string {
    const { dialect, references } = this.#workshop
    const { reading, long } = this.#read()
    if (long) {
      const html = this.#finished.html + long.write(reading)
      long.grow(reading, false)
      return html
    }
    const tokens = joined(reading, this.#place)
    const from = this.#firstBlock(reading)
    dialect.inlines(tokens.slice(from), references.definitions)
    const html = this.#finished.html + this.#codeEnd(reading) + dialect.write(tokens, from, tokens.length)
    if (this.#open.length >= this.#patience) {
      this.#long = LongParagraph.find(reading, this.#place, this.#workshop)
      if (!this.#long) this.#patience = this.#open.length * PATIENCE_GROWTH
    }
    return html
  }

  /** Moves on to the last place before which nothing can change any more. Only complete lines count. */
  #finishLines(): void {
    const length = this.#open.lastIndexOf('\n') + 1
    const { reading, long } = this.#read(length)
    if (!long) {
      this.#finish(reading)
    } else if (lastCut(reading)) {
      this.#long = null
      this.#finish(this.#read(length).reading)
    } else {
      long.grow(reading, true)
    }
  }

  #finish(reading: Reading): void {
    const leaf = lastLeaf(reading.tokens)
    const cut = lastCut(reading)
    if (this.#place.code && leaf === reading.skeleton.tokens && isOpenCode(reading, leaf)) this.#growCode(reading)
    else if (beginsOpenCode(reading, leaf)) this.#enterCode(reading, leaf)
    else if (cut) this.#finishBlocks(reading, cut)
    else this.#long = LongTable.find(reading, this.#place, this.#workshop)
  }

  #finishBlocks(reading: Reading, { token, line }: Cut): void {
    const { lines, skeleton } = reading
    const tokens = joined(reading, this.#place).slice(0, token)
    const previous = tokens.findLast(({ type }) => type !== 'reference_definition')
    const frames = this.#writeUntil(reading, token)
    this.#moveTo(placeIn(frames, previous ?? null), lines.start(line) - skeleton.text.length)
  }

  /** Finishes the tokens before this one; answers what is open there. */
  #writeUntil(reading: Reading, to: number): readonly Frame[] {
    const { tokens, skeleton } = reading
    const { frames, lists } = framesAt(reading, this.#place.frames, to)
    this.#finished.addText(this.#codeEnd(reading))
    this.#finished.add(joined(reading, this.#place), this.#firstBlock(reading), to, lists)
    for (const token of tokens.slice(skeleton.tokens, to)) {
      if (token.type === 'reference_definition') this.#workshop.references.finish(String(token.meta?.label))
    }
    return frames
  }

  #enterCode(reading: Reading, index: number): void {
    const token = reading.tokens[index]
    if (!token) return
    const frames = this.#writeUntil(reading, index)
    const { html, lines } = this.#workshop.dialect.openCode(token.info)
    this.#finished.addText(html)
    const column = reading.columns(token.map?.[0] ?? 0, token.level).block
    const leaf =
      token.type === 'fence' ? ({ kind: 'fence', column, marks: token.markup } as const) : ({ kind: 'code' } as const)
    this.#finishCode(reading, token, frames, { leaf, lines }, token.content)
  }

  #growCode(reading: Reading): void {
    const { frames, code } = this.#place
    const token = reading.tokens[reading.skeleton.tokens]
    if (code && token) this.#finishCode(reading, token, frames, code, this.#codeContent(reading))
  }

  /** Finishes the complete lines of code, but for one that may not be the code's, or that decides a list's spacing. */
  #finishCode(
    { lines, skeleton }: Reading,
    token: Token,
    frames: readonly Frame[],
    code: OpenCode,
    content: string,
  ): void {
    const last = lines.count - 1
    const keepsLast = token.type === 'code_block' || lines.isBlank(last, Number.POSITIVE_INFINITY)
    const { html, after } = code.lines.append(keepsLast ? withoutLastLine(content) : content)
    this.#finished.addText(this.#workshop.dialect.encode(html))
    this.#moveTo(
      placeInCode(frames, { leaf: code.leaf, lines: after }),
      lines.start(keepsLast ? last : lines.count) - skeleton.text.length,
    )
  }

  #moveTo(place: Place, offset: number): void {
    this.#place = place
    this.#open = this.#open.slice(offset)
    this.#patience = LONG_PARAGRAPH_CHARACTERS
  }

  /** The first token that is not the open code's. */
  #firstBlock({ skeleton }: Reading): number {
    return skeleton.tokens + (this.#place.code ? 1 : 0)
  }

  /** What is still to come of the open code, if the place is in one. */
  #codeEnd(reading: Reading): string {
    const { code } = this.#place
    if (!code) return ''
    return this.#workshop.dialect.encode(code.lines.append(this.#codeContent(reading)).html + CODE_END)
  }

  #codeContent({ tokens, skeleton }: Reading): string {
    const content = tokens[skeleton.tokens]?.content ?? ''
    return this.#place.code?.leaf.kind === 'code' ? content.slice(CODE_PLACEHOLDER.length) : content
  }
}

/** Whether what follows the reading may be more of this code block. */
function isOpenCode({ tokens, lines }: Reading, index: number): boolean {
  const token = tokens[index]
  const [start = 0, end = 0] = token?.map ?? []
  if (!token || end !== lines.count) return false
  if (token.type === 'code_block') return true
  // The line that closes a fence is none of its content.
  return token.type === 'fence' && token.content.split('\n').length === end - start
}

/** Whether open code begins here, and what is before it is final: a table's second line decides what its first is. */
function beginsOpenCode(reading: Reading, index: number): boolean {
  const { tokens, lines } = reading
  const token = tokens[index]
  const line = token?.map?.[0] ?? 0
  if (!token || line < reading.skeleton.lines || line + 2 > lines.count || !isOpenCode(reading, index)) return false
  return token.type === 'fence' || isCut(reading, index)
}

function withoutLastLine(lines: string): string {
  return lines.slice(0, lines.slice(0, -1).lastIndexOf('\n') + 1)
}
