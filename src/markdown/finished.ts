import type { Token } from 'markdown-it'
import type { OpenFrames } from './cuts.ts'
import type { Dialect } from './dialect.ts'
import type { Skeleton, Spacing } from './frames.ts'
import type { Workshop } from './place.ts'
import type { References } from './references.ts'

/** So many characters of HTML are added one by one before they are joined to the rest. */
const LATEST_CHARACTERS = 8192

/** Rendered blocks; where their list is still open, both as it may turn out. */
interface Part {
  /** Null if both renderings are the same. */
  readonly spacing: Spacing | null
  tight: string
  loose: string
  /** Where a link may yet be defined, what it takes to render the part anew. */
  readonly linked: Linked | null
}

interface Linked {
  readonly labels: ReadonlySet<string>
  readonly piece: Piece
}

/** Tokens to render from index `from` to before `to`, with their neighbours. */
interface Piece {
  readonly tokens: Token[]
  readonly from: number
  readonly to: number
  /** Of these, the paragraphs that have no tags if their list is tight. */
  readonly paragraphs: readonly Token[]
}

/** HTML of blocks that stay. It changes only where a list turns out to be loose or a link is defined later on. */
export class Finished {
  readonly #dialect: Dialect
  readonly #references: References
  readonly #parts: Part[] = []
  /** All parts, each list as it was when this was joined; in two, so that the longer one is seldom copied. */
  #html = ''
  #latest = ''
  readonly #joinedLoose = new WeakMap<Spacing, boolean>()

  constructor({ dialect, references }: Workshop) {
    this.#dialect = dialect
    this.#references = references
  }

  get html(): string {
    return this.#html + this.#latest
  }

  /** Renders the tokens from index `from` to before `to`; `lists` are the lists that are open behind them. */
  add(tokens: Token[], from: number, to: number, lists: OpenFrames['lists']): void {
    let list: OpenFrames['lists'][number] | null = null
    let start = from
    for (const next of lists) {
      if (next.token >= start) {
        this.#addTokens(tokens, start, next.token + 1, list)
        start = next.token + 1
      }
      list = next
    }
    this.#addTokens(tokens, start, to, list)
  }

  /** Adds HTML that nothing changes. */
  addText(html: string): void {
    if (html === '') return
    this.#append({ spacing: null, tight: html, loose: html, linked: null })
  }

  /** The lists may have turned loose, or tight again. */
  respace(lists: Skeleton['lists']): void {
    if (lists.some(({ spacing }) => (this.#joinedLoose.get(spacing) ?? spacing.loose) !== spacing.loose)) this.#join()
  }

  /** These labels were defined, or are so no longer. */
  relink(labels: readonly string[]): void {
    if (labels.length === 0) return
    let isStale = false
    for (const part of this.#parts) {
      const { linked } = part
      if (!linked || !labels.some(label => linked.labels.has(label))) continue
      this.#dialect.inlines(linked.piece.tokens.slice(linked.piece.from, linked.piece.to), this.#references.definitions)
      Object.assign(part, this.#render(linked.piece))
      isStale = true
    }
    if (isStale) this.#join()
  }

  #addTokens(tokens: Token[], from: number, to: number, list: OpenFrames['lists'][number] | null): void {
    if (from >= to) return
    this.#references.takeAsked()
    this.#dialect.inlines(tokens.slice(from, to), this.#references.definitions)
    const labels = this.#references.takeAsked()
    const first = Math.max(from - 1, 0)
    const around = tokens.slice(first, to + 1)
    const level = list ? (tokens[list.token]?.level ?? 0) + LEVELS_TO_PARAGRAPH : 0
    const paragraphs = list ? around.filter(token => isParagraph(token, level)) : []
    const piece = { tokens: around, from: from - first, to: to - first, paragraphs }
    const spacing = paragraphs.length > 0 && list ? list.frame.spacing : null
    this.#append({ spacing, ...this.#render(piece), linked: labels.size > 0 ? { labels, piece } : null })
  }

  #render({ tokens, from, to, paragraphs }: Piece): { tight: string; loose: string } {
    const hidden = paragraphs.map(token => token.hidden)
    const write = (isTight: boolean): string => {
      for (const token of paragraphs) token.hidden = isTight
      return this.#dialect.write(tokens, from, to)
    }
    const loose = write(false)
    const tight = paragraphs.length > 0 ? write(true) : loose
    paragraphs.forEach((token, index) => {
      token.hidden = hidden[index] ?? false
    })
    return { tight, loose }
  }

  #append(part: Part): void {
    const last = this.#parts.at(-1)
    if (last && !last.linked && !part.linked && last.spacing === part.spacing) {
      last.tight += part.tight
      last.loose += part.loose
    } else {
      this.#parts.push(part)
    }
    if (part.spacing && !this.#joinedLoose.has(part.spacing)) this.#joinedLoose.set(part.spacing, part.spacing.loose)
    const isLoose = part.spacing ? this.#joinedLoose.get(part.spacing) : true
    this.#latest = flat(this.#latest + (isLoose ? part.loose : part.tight))
    if (this.#latest.length < LATEST_CHARACTERS) return
    this.#html = flat(this.#html + this.#latest)
    this.#latest = ''
  }

  #join(): void {
    let html = ''
    for (const { spacing, tight, loose } of this.#parts) {
      if (spacing) this.#joinedLoose.set(spacing, spacing.loose)
      html += spacing === null || spacing.loose ? loose : tight
    }
    this.#html = flat(html)
    this.#latest = ''
  }
}

/**
 * The same text in one run of memory: to look for something in it makes the engine join it, which it would otherwise do
 * with all parts of the finished text again for each piece.
 */
function flat(text: string): string {
  ANYTHING.test(text)
  return text
}

const ANYTHING = /^./

/** A list's item is one level below it, and the item's paragraphs one below that. */
const LEVELS_TO_PARAGRAPH = 2

function isParagraph(token: Token, level: number): boolean {
  return token.level === level && (token.type === 'paragraph_open' || token.type === 'paragraph_close')
}
