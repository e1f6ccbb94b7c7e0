/** @jsxImportSource hono/jsx */
import type { RequestScope } from '../../server/requests.ts'
import { Facets } from '../products/schema.ts'
import type { OwnOperations } from './own-operations.ts'
import { countText } from './tables.tsx'

/** The parameters that narrow the list of products. */
export const FACET_FILTERS = ['q', 'category_id', 'min_price', 'max_price', 'below_price', 'min_rating']

/** The bands of prices that are counted. */
const BANDS = [10, 25, 50, 100, 250, 1_000]

/** Links that narrow the list of products, with their counts; empty if these cannot be had now. */
export async function facets(own: OwnOperations, visit: RequestScope, query: URLSearchParams): Promise<string> {
  const sent = new URLSearchParams([...query].filter(([name, value]) => FACET_FILTERS.includes(name) && value !== ''))
  sent.set('price_bands', BANDS.join())
  const response = await own.call(visit, { method: 'GET', route: '/facets/products', query: `?${sent}` })
  if (!response.ok) return ''
  const { category_id: categories = [], price, rating = [] } = Facets.parse(await response.json())
  return `${(
    <nav class="facets" aria-label="Narrow the list">
      <h2>Category</h2>
      <ul>
        {categories.map(({ value, name, count }) => (
          <Facet {...{ query, name: name ?? 'Without a category', count }} filters={{ category_id: value }} />
        ))}
      </ul>
      <h2>Price</h2>
      <ul>
        {price?.bands.map(({ min, max, count }) => {
          const name = min === null ? `Below ${max}` : max === null ? `${min} and more` : `${min} to ${max}`
          const filters = { min_price: min, below_price: max, max_price: null }
          return <Facet {...{ query, name, count, filters }} />
        })}
      </ul>
      <h2>Stars</h2>
      <ul>
        {rating.map(({ min, count }) => (
          <Facet {...{ query, name: `${min} and more`, count }} filters={{ min_rating: min }} />
        ))}
      </ul>
    </nav>
  )}`
}

interface FacetProperties {
  readonly query: URLSearchParams
  readonly name: string
  readonly count: number
  /** The values of the filters that it stands for; `null` for none. */
  readonly filters: Readonly<Record<string, number | null>>
}

/** A link that chooses, or no longer chooses what is chosen. */
function Facet({ query, name, count, filters }: FacetProperties) {
  const entries = Object.entries(filters).map(
    ([filter, value]) => [filter, value === null ? '' : String(value)] as const,
  )
  const isChosen = entries.every(([filter, value]) => (query.get(filter) ?? '') === value)
  if (count === 0 && !isChosen) return null
  const changed = new URLSearchParams([...query].filter(([sent]) => sent !== 'cursor' && !(sent in filters)))
  if (!isChosen) for (const [filter, value] of entries) if (value !== '') changed.set(filter, value)
  // With an id, it keeps the focus when the list is counted again.
  return (
    <li>
      <a href={`/admin/?${changed}`} {...(isChosen && { 'aria-current': 'true' })} id={entries.flat().join('-')}>
        <span dir="auto">{name}</span> <span class="quiet">{countText(count)}</span>
      </a>
    </li>
  )
}
