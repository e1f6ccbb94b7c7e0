import { CATEGORIES, type CatalogFiles } from './catalog-files.ts'
import { type Random, randomNumbers } from './random.ts'
import { typedWords } from './vocabulary.ts'

export type Engine = 'SQLite' | 'PostgreSQL'

/** Of so many requests of 100, the longest may take so long. */
export interface Bound {
  readonly percent: 95 | 99 | 100
  readonly milliseconds: number
}

/** Requests of one kind. */
export interface RequestGroup {
  readonly name: string
  readonly title: string
  /** All different, so that no cache answers them. */
  readonly paths: readonly string[]
  /** Required by the specification, for each engine; empty if it requires nothing. */
  readonly required: Readonly<Partial<Record<Engine, readonly Bound[]>>>
  /** The paths are of whole lists; each is read to a deep place first, whose page is then measured. */
  readonly isDeep?: boolean
  /** Number of products that are created before each request. */
  readonly created?: number
}

const TYPED_PREFIXES = 79
const PAGE = 'limit=20'
const TILE = 'fields=id,name,price,rating'

const TYPED: RequestGroup['required'] = {
  SQLite: [
    { percent: 99, milliseconds: 10 },
    { percent: 100, milliseconds: 20 },
  ],
  PostgreSQL: [
    { percent: 95, milliseconds: 20 },
    { percent: 100, milliseconds: 50 },
  ],
}

/** All requests of a search bench. */
export function requestGroups({ words, products }: CatalogFiles): readonly RequestGroup[] {
  const random = randomNumbers(3)
  const inNames = typedPrefixes(words.things)
  const inTexts = typedPrefixes(words.text)
  const [common = '', ...others] = typedWords(words.things)
  const category = places(CATEGORIES, random)
  const each = (count: number, path: (place: number) => string) => Array.from({ length: count }, (_, at) => path(at))
  return [
    group(
      'list',
      'list of products with a random `skip`',
      each(40, () => `/products/?skip=${place(products, random)}&${PAGE}`),
    ),
    group(
      'typed-names',
      `${TYPED_PREFIXES} typed prefixes of words in names`,
      inNames.map(typed => `/products/?q=${typed}&${PAGE}`),
      TYPED,
    ),
    group(
      'typed-texts',
      `${TYPED_PREFIXES} typed prefixes of words in all text`,
      inTexts.map(typed => `/products/?q=${typed}&${PAGE}`),
      TYPED,
    ),
    group(
      'tiles',
      'the same in names, as tiles (`fields`)',
      inNames.map(typed => `/products/?q=${typed}&${PAGE}&${TILE}`),
      TYPED,
    ),
    group(
      'highlights',
      'the same in all text, with `highlights`',
      inTexts.map(typed => `/products/?q=${typed}&${PAGE}&${TILE},highlights`),
    ),
    group(
      'filter',
      'filter without `q`, sort by an indexed key',
      [
        ...each(10, at => `/products/?category_id=${category(at)}&${PAGE}`),
        ...each(10, at => `/products/?category_id=${category(at)}&sort=${at % 2 ? '-' : ''}price&${PAGE}`),
        ...each(10, at => `/products/?min_price=${at * 20}&max_price=${at * 20 + 100}&sort=price&${PAGE}`),
        ...['id', '-id', 'name', '-name', 'price', '-price', 'rating', '-rating', 'reviews', '-reviews'].map(
          sort => `/products/?sort=${sort}&${PAGE}`,
        ),
      ],
      bounds(5),
    ),
    group(
      'other-sort',
      'narrow filter, sort by another key',
      [
        ...each(5, at => `/products/?category_id=${category(at)}&sort=-rating&${PAGE}`),
        ...each(5, at => `/products/?category_id=${category(at)}&sort=name&${PAGE}`),
        ...each(5, at => `/products/?min_price=${10 + at}&below_price=${11 + at}&sort=-reviews&${PAGE}`),
        ...each(5, at => `/products/?min_price=${20 + at}&below_price=${21 + at}&min_rating=4&sort=-rating&${PAGE}`),
      ],
      bounds(100),
    ),
    group(
      'q-and-more',
      '`q` with another sort or a filter',
      [common, ...others].flatMap((word, at) => [
        `/products/?q=${word}&sort=price&${PAGE}`,
        `/products/?q=${word}&sort=-rating&${PAGE}`,
        `/products/?q=${word.slice(0, 2)}&category_id=${category(at)}&${PAGE}`,
        `/products/?q=${word}&category_id=${category(at)}&max_price=100&sort=price&${PAGE}`,
        `/products/?q=${word}%20steel&min_rating=4&${PAGE}`,
      ]),
      bounds(200),
    ),
    group(
      'facets',
      'facets of everything',
      each(5, at => `/facets/products?price_bands=${10 + at},50,100,500`),
      bounds(400),
    ),
    group(
      'facets-filter',
      'facets of a common word or a filter',
      [
        ...[common, 'steel', common.slice(0, 1), 'the'].map(word => `/facets/products?q=${word}&price_bands=10,50,100`),
        ...each(3, at => `/facets/products?category_id=${category(at)}&price_bands=10,50,100`),
        `/facets/products?q=${common}&category_id=${category(0)}&min_price=10&min_rating=3&price_bands=10,50,100`,
      ],
      bounds(400),
    ),
    group('count', 'page with `count=10000`', [
      `/products/?sort=price&count=10000&${PAGE}`,
      ...each(5, at => `/products/?category_id=${category(at)}&count=10000&${PAGE}`),
      ...['the', 'steel', ...typedWords(words.things)].map(word => `/products/?q=${word}&count=10000&${PAGE}`),
    ]),
    {
      ...group('cursor', 'page deep in a list, by cursor', [
        '/products/?sort=-id',
        '/products/?sort=-price',
        '/products/?sort=name',
        '/products/?sort=-rating',
        `/products/?category_id=${category(0)}&sort=price`,
        '/products/?q=the',
        `/products/?q=${common}`,
        `/products/?q=${common}&sort=price`,
      ]),
      isDeep: true,
    },
    { ...group('after-create', 'search right after a create', freshSearches(20)), created: 1 },
    { ...group('after-creates', 'search right after 1,000 creates', freshSearches(5)), created: 1_000 },
  ]
}

/** Searches like those of shoppers: without an end, and never the same twice in a row. */
export function searches({ words }: CatalogFiles): () => string {
  const typed = [...typedPrefixes(words.things), ...typedPrefixes(words.text)]
  let sent = 0
  return () => {
    const prefix = typed[sent++ % typed.length] ?? ''
    return sent % 5 === 0 ? `/products/?q=${prefix}&sort=price&${PAGE}` : `/products/?q=${prefix}&${PAGE}&${TILE}`
  }
}

/** Letters of common and rare words, as somebody types them one by one. */
function typedPrefixes(words: readonly string[]): string[] {
  const prefixes = new Set<string>()
  const typed = [...typedWords(words), ...words.slice(0, 10), ...words.slice(-10)]
  for (const word of typed) {
    for (let letters = 1; letters <= word.length; letters++) prefixes.add(word.slice(0, letters))
  }
  return [...prefixes].slice(0, TYPED_PREFIXES)
}

function group(name: string, title: string, paths: readonly string[], required: RequestGroup['required'] = {}) {
  return { name, title, paths: [...new Set(paths)], required }
}

function bounds(milliseconds: number): RequestGroup['required'] {
  const worst: Bound = { percent: 100, milliseconds }
  return { SQLite: [worst], PostgreSQL: [worst] }
}

/** They find the products that were just created. */
function freshSearches(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `/products/?q=fresh&${PAGE}&nothing=${at}`)
}

/** Different whole numbers from 1, the small ones among them, in no order. */
function places(most: number, random: Random): (at: number) => number {
  const start = place(most, random)
  return at => 1 + ((start + at * 37) % most)
}

function place(most: number, random: Random): number {
  return Math.floor(random() * most)
}
