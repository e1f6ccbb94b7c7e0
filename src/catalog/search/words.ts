import { ASCII, firstCodePoints } from './folding.ts'

/** Limit on a word, because PostgreSQL takes index entries of 2.7 kB at most. */
const WORD_MAX_CODE_POINTS = 64

/** Limit on the folded text whose words count, because PostgreSQL takes at most 1 MiB of words per row. */
export const TEXT_MAX_CODE_POINTS = 10_000

/** Hyphens and apostrophes. U+02BC is a letter in Unicode, but always separates here. */
const JOINER = "\\-\\u2010\\u2011'\\u2019\\u02bc"
/** The scripts that write no spaces. */
const UNSPACED = '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\u30fc\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}'
const LETTER = '[[\\p{L}\\p{N}\\p{M}]--\\u02bc]'
const SPACED_LETTER = `[${LETTER}--[${UNSPACED}]]`

const ASCII_CHAIN = /[a-z0-9]+(?:[-'][a-z0-9]+)*/g
const CHAIN = new RegExp(`${LETTER}+(?:[${JOINER}]${LETTER}+)*`, 'gv')
const HAS_JOINER = new RegExp(`[${JOINER}]`, 'v')
const HAS_UNSPACED = new RegExp(`[${UNSPACED}]`, 'v')
const JOINERS = new RegExp(`[${JOINER}]`, 'gv')
const BETWEEN_JOINERS = new RegExp(`[^${JOINER}]+`, 'gv')
const SEGMENT = new RegExp(`[${UNSPACED}]+|${SPACED_LETTER}+`, 'gv')
const JOINED_SEGMENT = new RegExp(
  `[${UNSPACED}](?:[${JOINER}]?[${UNSPACED}])*|${SPACED_LETTER}(?:[${JOINER}]?${SPACED_LETTER})*`,
  'gv',
)

/** Words of scripts without spaces are pairs of characters, and in the index the last character of their run as well. */
type WordKind = 'word' | 'pair' | 'single character' | 'last character'

export interface Word {
  readonly text: string
  readonly kind: WordKind
  /** The place in the folded text. */
  readonly start: number
  readonly end: number
  /** Where its chain starts: a word, or several with one hyphen or apostrophe between each two. */
  readonly chain: number
  /** Whether it is a word of the chain without its hyphens and apostrophes. */
  readonly isJoined: boolean
}

/** The words of a folded text: those of each chain in order, then those of its joined form, if these are others. */
export function wordsOf(folded: string): Word[] {
  const isAscii = ASCII.test(folded)
  const hasUnspaced = !isAscii && HAS_UNSPACED.test(folded)
  const hasJoiner = HAS_JOINER.test(folded)
  const words: Word[] = []
  forEachMatch(folded, isAscii ? ASCII_CHAIN : CHAIN, (text, start) => {
    const isSeveral = hasJoiner && HAS_JOINER.test(text)
    if (isSeveral || (hasUnspaced && HAS_UNSPACED.test(text))) addChain(words, text, start, isSeveral)
    else addWord(words, text, start, start + text.length, start, false)
  })
  return words
}

/** Far faster than `matchAll`. Matches begin with a character of a kind that is never between two of them. */
function forEachMatch(text: string, pattern: RegExp, tell: (match: string, start: number) => void): void {
  let end = 0
  for (const match of text.match(pattern) ?? []) {
    const start = text.indexOf(match, end)
    end = start + match.length
    tell(match, start)
  }
}

function addChain(words: Word[], text: string, chain: number, isSeveral: boolean): void {
  if (!HAS_UNSPACED.test(text)) {
    addSegments(words, text, BETWEEN_JOINERS, chain, false)
    addWord(words, text.replace(JOINERS, ''), chain, chain + text.length, chain, true)
    return
  }
  addSegments(words, text, SEGMENT, chain, false)
  // A longer segment has a hyphen or apostrophe; without one, the joined form has the same words.
  const isOther = isSeveral && text.match(JOINED_SEGMENT)?.length !== text.match(SEGMENT)?.length
  if (isOther) addSegments(words, text, JOINED_SEGMENT, chain, true)
}

function addSegments(words: Word[], chainText: string, pattern: RegExp, chain: number, isJoined: boolean): void {
  forEachMatch(chainText, pattern, (text, offset) => {
    const start = chain + offset
    if (HAS_UNSPACED.test(text)) addRun(words, text, start, chain, isJoined)
    else addWord(words, isJoined ? text.replace(JOINERS, '') : text, start, start + text.length, chain, isJoined)
  })
}

function addWord(words: Word[], letters: string, start: number, end: number, chain: number, isJoined: boolean): void {
  words.push({ text: firstCodePoints(letters, WORD_MAX_CODE_POINTS), kind: 'word', start, end, chain, isJoined })
}

/** Adds the pairs of a run and its last character. */
function addRun(words: Word[], run: string, start: number, chain: number, isJoined: boolean): void {
  let end = start
  let last: { readonly letter: string; readonly start: number } | null = null
  let kind: WordKind = 'single character'
  for (const letter of run) {
    const letterStart = end
    end += letter.length
    if (isJoined && HAS_JOINER.test(letter)) continue
    if (last) {
      words.push({ text: last.letter + letter, kind: 'pair', start: last.start, end, chain, isJoined })
      kind = 'last character'
    }
    last = { letter, start: letterStart }
  }
  if (last) words.push({ text: last.letter, kind, start: last.start, end, chain, isJoined })
}
