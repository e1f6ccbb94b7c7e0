import type { CountFacets, FacetsQuery, facetCounter } from '../index/facets.ts'
import type { Values } from '../resource.ts'
import type { RepresentationCache } from './cached.ts'
import type { ChangedPart } from './changed-parts.ts'

/** All that facets show: products with their ratings, and the names of categories. */
const DEPENDENCIES: readonly ChangedPart[] = [
  { table: 'products', id: 'any', part: 'all rows' },
  { table: 'products', id: 'any', part: 'row' },
  { table: 'products', id: 'any', part: 'referring rows' },
  { table: 'categories', id: 'any', part: 'all rows' },
  { table: 'categories', id: 'any', part: 'row' },
]

/** Approximate overhead of the facets of one query, besides their text. */
const FACETS_BYTES = 400

/** Counts facets, by way of the cache. */
export function cachedFacets<Row extends Values>(
  facets: ReturnType<typeof facetCounter<Row>>,
  cache: RepresentationCache,
): CountFacets<Row> {
  const count = async (query: FacetsQuery<Row>) => {
    const json = JSON.stringify(await facets(query))
    return { value: { json }, bytes: FACETS_BYTES + 2 * json.length }
  }
  const kept = cache.values<{ readonly json: string }>()
  return query => kept({ key: JSON.stringify(query), dependencies: DEPENDENCIES }, () => count(query))
}
