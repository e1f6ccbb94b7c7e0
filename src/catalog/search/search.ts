import { folded, foldedBeginning } from './folding.ts'
import { TEXT_MAX_CODE_POINTS, type Word, wordsOf } from './words.ts'

/** Further words of a query do not count. */
const QUERY_MAX_WORDS = 16

const SORT_KEY_MAX_CODE_POINTS = 64

/** A word that an item must have, or the beginning of one. */
export interface Term {
  readonly text: string
  readonly isPrefix: boolean
}

/** A word or chain of a query: an item matches if it has all terms of one of these. */
export type Unit = readonly (readonly Term[])[]

/** The words of a query. */
export interface Search {
  /** All of them must match. */
  readonly units: readonly Unit[]
  /** The words, joined by blanks: what the name of the best match begins with. */
  readonly beginning: string
  /** Whether the last word is a prefix. */
  readonly isOpen: boolean
}

/** The words of an item that the index has. */
export interface IndexedWords {
  /** Distinct words of name and text together, joined forms of chains included. */
  readonly all: readonly string[]
  /** Distinct words of the name. */
  readonly ofName: readonly string[]
  /** The first word of `beginning`: what the query of a best match begins with. */
  readonly first: readonly string[]
  /** The name's words in order, as a query would have them, joined by blanks. */
  readonly beginning: string
}

/** `null` if the text has no word. Only the first 16 words count. */
export function searchOf(q: string): Search | null {
  const text = folded(q)
  const units: Unit[] = []
  const words: Term[] = []
  for (const chain of Map.groupBy(wordsOf(text), word => word.chain).values()) {
    const terms = termsOf(chain, false, text.length).slice(0, QUERY_MAX_WORDS - words.length)
    if (terms.length === 0) break
    // The joined form stays whole even if not all words of the chain count, so that leaving words out only finds more.
    const joined = termsOf(chain, true, text.length).slice(0, QUERY_MAX_WORDS)
    units.push(joined.length > 0 ? [terms, joined] : [terms])
    words.push(...terms)
  }
  const last = words.at(-1)
  return last ? { units, beginning: textsOf(words).join(' '), isOpen: last.isPrefix } : null
}

/** A pair is never a prefix, because no word in the index is longer. */
function termsOf(chain: readonly Word[], isJoined: boolean, textEnd: number): Term[] {
  return chain
    .filter(word => word.isJoined === isJoined && isOfQuery(word))
    .map(({ text, kind, end }) => ({
      text,
      isPrefix: kind === 'single character' || (kind === 'word' && end === textEnd),
    }))
}

/** The last character of a run is only in the index, where a query of one character looks for it. */
function isOfQuery({ kind }: Word): boolean {
  return kind !== 'last character'
}

export function indexedWords(name: string, text: string): IndexedWords {
  const words = wordsOf(folded(name))
  const ofName = new Set(textsOf(words))
  const all = new Set(ofName)
  for (const word of wordsOf(foldedBeginning(text, TEXT_MAX_CODE_POINTS))) all.add(word.text)
  const inOrder = textsOf(words.filter(word => !word.isJoined && isOfQuery(word)))
  return { all: [...all], ofName: [...ofName], first: inOrder.slice(0, 1), beginning: inOrder.join(' ') }
}

function textsOf(words: readonly { readonly text: string }[]): string[] {
  return words.map(({ text }) => text)
}

/** The key by which names are ordered, by code point. */
export function sortKey(name: string): string {
  return foldedBeginning(name, SORT_KEY_MAX_CODE_POINTS)
}

/** Whether a word of an item is one that the term asks for. */
export function isFound({ text, isPrefix }: Term, word: string): boolean {
  return isPrefix ? word.startsWith(text) : word === text
}
