import { normalized } from '../../normalized.ts'

export const ASCII: RegExp = /^[\0-\x7f]*$/

/** Accents, the points of Hebrew and Arabic, and invisible characters. Other marks stay: Hindi and Thai are unreadable without. */
const DROPPED =
  /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u00ad\u200b-\u200d\u2060\ufeff]+/gu

/** Letters that Unicode does not decompose. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
  ς: 'σ',
}
const LETTER = /[ßæœøłđðþıς]/gu

/**
 * Characters that may join the one before: marks, invisible ones, vowels and finals of Hangul, half-width voice marks, and
 * vowels of Kirat Rai. All others fold the same wherever the text is cut before them.
 */
const CONTINUATION =
  '\\p{M}\\u00ad\\u200b-\\u200d\\u2060\\ufeff\\u1160-\\u11ff\\u3131-\\u318e\\ud7b0-\\ud7ff\\uff9e-\\uffdc\\u{16d67}-\\u{16d6a}'
const PIECE = new RegExp(`[^][${CONTINUATION}]*`, 'gu')
/** Not the second half of a surrogate pair either. */
const PIECE_START = new RegExp(`[^${CONTINUATION}\\udc00-\\udfff]`, 'gu')

/** A text in the form in which texts are compared: without accents, in lower case, in no language. */
export function folded(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  const plain = normalized(text, 'NFKD')
    .replace(DROPPED, '')
    .toLowerCase()
    .replace(LETTER, letter => LETTERS[letter] ?? letter)
  return normalized(plain, 'NFC')
}

/** The first code points of the folded text. Folds no more of a long text than it needs. */
export function foldedBeginning(text: string, max: number): string {
  for (let size = 2 * max; size < text.length; size *= 2) {
    PIECE_START.lastIndex = size
    const end = PIECE_START.exec(text)?.index ?? text.length
    const beginning = folded(text.slice(0, end))
    const cut = firstCodePoints(beginning, max)
    if (cut.length < beginning.length) return cut
    // It may be earlier: within a surrogate pair, the search begins with the pair.
    size = Math.max(size, end)
  }
  return firstCodePoints(folded(text), max)
}

/** The beginning of a folded text, and the places in the text that it was made from. */
export interface Traced {
  readonly text: string
  /** For each UTF-16 unit of the folded text, the piece of the text that it comes from; `null` if it is the same unit. */
  readonly origins: readonly { readonly start: number; readonly end: number }[] | null
}

/** `foldedBeginning`, with the places in the text. */
export function tracedBeginning(text: string, max: number): Traced {
  if (ASCII.test(text)) return { text: foldedBeginning(text, max), origins: null }
  let beginning = ''
  const origins = []
  for (const { 0: piece, index: start } of text.matchAll(PIECE)) {
    const part = folded(piece)
    const origin = { start, end: start + piece.length }
    for (let unit = 0; unit < part.length; unit += 1) origins.push(origin)
    beginning += part
    // A code point has at most two units.
    if (beginning.length >= 2 * max) break
  }
  return { text: firstCodePoints(beginning, max), origins }
}

export function firstCodePoints(text: string, max: number): string {
  return text.slice(0, afterCodePoints(text, 0, max))
}

/** The index that is so many code points after another one, or the end of the text. */
export function afterCodePoints(text: string, from: number, count: number): number {
  if (text.length - from <= count) return text.length
  let index = from
  for (let passed = 0; passed < count && index < text.length; passed += 1) {
    index += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1
  }
  return index
}
