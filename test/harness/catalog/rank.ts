import { type IndexedWords, isFound, type Search } from '../../../src/catalog/search/search.ts'

/** The rank of an item, 0 if it does not match: the plain definition, with which the engines are compared. */
export function rankOf(search: Search, words: IndexedWords): 0 | 1 | 2 | 3 {
  if (!matches(search, words.all)) return 0
  if (!matches(search, words.ofName)) return 1
  const rest = words.beginning.startsWith(search.beginning) ? words.beginning.slice(search.beginning.length) : null
  return rest !== null && (search.isOpen || rest === '' || rest.startsWith(' ')) ? 3 : 2
}

function matches({ units }: Search, words: readonly string[]): boolean {
  return units.every(unit => unit.some(terms => terms.every(term => words.some(word => isFound(term, word)))))
}
