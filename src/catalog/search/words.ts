import { firstCodePoints } from './folding.ts'

/** Limit on a word, because PostgreSQL takes index entries of 2.7 kB at most. */
export const WORD_MAX_CODE_POINTS = 64

/** Limit on the folded text whose words count, because PostgreSQL takes at most 1 MiB of words per row. */
export const TEXT_MAX_CODE_POINTS = 10_000

/** Hyphens and apostrophes. U+02BC is a letter in Unicode, but always separates here. */
const JOINER_CHARACTERS = new Set("-\u2010\u2011'\u2019\u02bc")
const JOINER = "\\-\\u2010\\u2011'\\u2019\\u02bc"
/** The scripts that write no spaces. */
const UNSPACED =
  '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\u30fc\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}'
const LETTER = '[[\\p{L}\\p{N}\\p{M}]--\\u02bc]'
const SPACED_LETTER = `[${LETTER}--[${UNSPACED}]]`

const IS_ASCII = /^[\0-\x7f]*$/
const ASCII_CHAIN = /[a-z0-9]+(?:[-'][a-z0-9]+)*/g
const CHAIN = new RegExp(`${LETTER}+(?:[${JOINER}]${LETTER}+)*`, 'gv')
const HAS_JOINER = new RegExp(`[${JOINER}]`, 'v')
const HAS_UNSPACED = new RegExp(`[${UNSPACED}]`, 'v')
const JOINERS = new RegExp(`[${JOINER}]`, 'gv')
/** A mark belongs to what it follows. */
const SEGMENT = new RegExp(`[${UNSPACED}][${UNSPACED}\\p{M}]*|${SPACED_LETTER}+`, 'gv')
const JOINED_SEGMENT = new RegExp(
  `[${UNSPACED}](?:[${JOINER}]?[${UNSPACED}\\p{M}])*|${SPACED_LETTER}(?:[${JOINER}]?${SPACED_LETTER})*`,
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
}

/** A word, or several with one hyphen or apostrophe between each two. */
export interface Chain {
  readonly words: readonly Word[]
  /** The words of the same text without hyphens and apostrophes; none if they are no others. */
  readonly joined: readonly Word[]
}

const NONE: readonly Word[] = []

/** The words of a folded text, in order. */
export function chainsOf(folded: string): Chain[] {
  const isAscii = IS_ASCII.test(folded)
  const hasUnspaced = !isAscii && HAS_UNSPACED.test(folded)
  const hasJoiner = HAS_JOINER.test(folded)
  const chains: Chain[] = []
  for (const found of findAll(folded, isAscii ? ASCII_CHAIN : CHAIN)) {
    const isJoined = hasJoiner && HAS_JOINER.test(found.text)
    if (isJoined || (hasUnspaced && HAS_UNSPACED.test(found.text))) chains.push(chainOf(found, isJoined))
    else chains.push({ words: [wordOf(found, found.text)], joined: NONE })
  }
  return chains
}

interface Found {
  readonly text: string
  readonly start: number
}

/** Twice as fast as `matchAll`. For patterns whose matches begin with a character that is not between two of them. */
function findAll(text: string, pattern: RegExp): Found[] {
  const all: Found[] = []
  let end = 0
  for (const match of text.match(pattern) ?? []) {
    const start = text.indexOf(match, end)
    all.push({ text: match, start })
    end = start + match.length
  }
  return all
}

function chainOf({ text, start }: Found, isJoined: boolean): Chain {
  const segments = findAll(text, SEGMENT)
  const joined = isJoined ? findAll(text, JOINED_SEGMENT) : segments
  const isOther = joined.length < segments.length
  return { words: wordsOf(segments, start), joined: isOther ? wordsOf(joined, start) : NONE }
}

function wordsOf(segments: readonly Found[], chainStart: number): Word[] {
  const words: Word[] = []
  for (const { text, start } of segments) {
    const segment = { text, start: chainStart + start }
    if (HAS_UNSPACED.test(text)) addRun(words, segment)
    else words.push(wordOf(segment, text.replace(JOINERS, '')))
  }
  return words
}

function wordOf({ text, start }: Found, letters: string): Word {
  return { text: firstCodePoints(letters, WORD_MAX_CODE_POINTS), kind: 'word', start, end: start + text.length }
}

/** Adds the pairs of a run and its last character. */
function addRun(words: Word[], { text: run, start }: Found): void {
  let last: Found | null = null
  let kind: WordKind = 'single character'
  let end = start
  for (const text of run) {
    const begin = end
    end += text.length
    if (JOINER_CHARACTERS.has(text)) continue
    if (last) {
      kind = 'last character'
      words.push({ text: last.text + text, kind: 'pair', start: last.start, end })
    }
    last = { text, start: begin }
  }
  if (last) words.push({ text: last.text, kind, start: last.start, end })
}
