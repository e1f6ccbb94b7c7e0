import type { Search, Term, Unit } from '../../search/search.ts'
import { FIRST_OF_NAME, OF_NAME } from './facts.ts'

/** Better matches first: the name begins with the words; it has them; the item has them. */
export const RANKS = [3, 2, 1] as const
export type Rank = (typeof RANKS)[number]

/** How an engine writes a query for words. Terms have letters, digits and marks of Unicode, perhaps after one of our own two marks. */
export interface MatchSyntax {
  readonly term: (text: string, isPrefix: boolean) => string
  readonly and: string
  readonly or: string
  readonly andNot: string
}

/** Items that have some words, and whose names begin, or do not begin, with some. */
export interface Match {
  /** In the engine's syntax. */
  readonly words: string
  readonly beginning: Beginning | null
}

export interface Beginning {
  /** With a blank after the last word if that may not go on. Then the name has to be compared with a blank after it, too. */
  readonly text: string
  readonly isOpen: boolean
  readonly isWanted: boolean
}

/** Items that match a search, with a rank only those of this rank. */
export function matchOf(search: Search, rank: Rank | null, syntax: MatchSyntax): Match {
  if (rank === null) return { words: allUnits(search, syntax, ''), beginning: null }
  const { beginning: text, isOpen } = search
  const ofName = allUnits(search, syntax, OF_NAME)
  if (rank === 1) return { words: `(${allUnits(search, syntax, '')})${syntax.andNot}(${ofName})`, beginning: null }
  const [first = ''] = text.split(' ')
  const isOneWord = first === text
  const begins = syntax.term(FIRST_OF_NAME + first, isOneWord && isOpen)
  const beginning = isOneWord ? null : { text: isOpen ? text : `${text} `, isOpen, isWanted: rank === 3 }
  // The first word of a name is one of its words.
  if (rank === 3) return { words: isOneWord ? begins : `(${ofName})${syntax.and}${begins}`, beginning }
  return { words: isOneWord ? `(${ofName})${syntax.andNot}${begins}` : ofName, beginning }
}

function allUnits({ units }: Search, syntax: MatchSyntax, mark: string): string {
  return units.map(unit => `(${anyAlternative(unit, syntax, mark)})`).join(syntax.and)
}

function anyAlternative(unit: Unit, syntax: MatchSyntax, mark: string): string {
  const termSql = ({ text, isPrefix }: Term) => syntax.term(mark + text, isPrefix)
  return unit.map(terms => `(${terms.map(termSql).join(syntax.and)})`).join(syntax.or)
}
