import { askRight } from './asking.ts'
import type { CatalogFiles } from './catalog-files.ts'
import { typedWords } from './vocabulary.ts'

/** More than any count. */
const COUNT = 1_000_000_000

/** Throws unless both servers find the same: a comparison of two that do different work would say nothing. */
export async function proveSameFound(expected: string, other: string, { words }: CatalogFiles): Promise<void> {
  for (const path of samples(typedWords(words.things))) {
    const [one, another] = [await askRight(expected, path), await askRight(other, path)]
    for (const part of ['body', 'count'] as const) {
      // Relevance is each server's own, so what `q` finds is only counted.
      if (part === 'body' && path.includes('q=')) continue
      const [wanted, got] = [one, another].map(({ headers, body }) =>
        part === 'count' ? headers.get('X-Total-Count') : normalized(body),
      )
      if (wanted !== got) throw new Error(`${path}: the answers differ in ${part}:\n${wanted}\n${got}`)
    }
  }
}

function samples(words: readonly string[]): string[] {
  const found = words.flatMap(word => [
    `/products/?q=${word}%20&count=${COUNT}&limit=1`,
    `/products/?q=${word.slice(0, 3)}&count=${COUNT}&limit=1`,
    `/products/?q=${word}&category_id=1&max_price=100&count=${COUNT}&limit=1`,
    `/products/?q=steel%20${word}&count=${COUNT}&limit=1`,
  ])
  const lists = ['id', '-id', 'name', '-name', 'price', '-price', 'rating', '-rating', 'reviews', '-reviews'].flatMap(
    sort => [
      `/products/?sort=${sort}&limit=20`,
      `/products/?sort=${sort}&category_id=2,3&min_price=10&max_price=40&count=${COUNT}&limit=20&fields=id,name,price,rating`,
      `/products/?sort=${sort}&min_rating=4.5&below_price=50&count=${COUNT}&limit=20`,
    ],
  )
  const facets = [
    '/facets/products?price_bands=10,50,100',
    '/facets/products?category_id=5&min_price=10&max_price=100&price_bands=10,50,100',
  ]
  return [...found, ...lists, ...facets]
}

/** Without what the peer leaves out. */
function normalized(body: string): string {
  const json: unknown = JSON.parse(body, (key, value) => (key === 'histogram' ? undefined : value))
  return JSON.stringify(json)
}
