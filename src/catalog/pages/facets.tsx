/** @jsxImportSource hono/jsx */
import { z } from '@hono/zod-openapi'
import type { RequestScope } from '../../server/requests.ts'
import type { OwnOperations } from './own-operations.ts'
import { countText } from './tables.tsx'

export const FACETS_ROUTE = '/facets/products'

const FILTERS = ['q', 'category_id', 'min_price', 'max_price', 'below_price', 'min_rating']

/** The bands of prices that are counted. */
const BANDS = [10, 25, 50, 100, 250, 1_000]

const Facets = z.object({
  category_id: z.array(z.object({ value: z.int(), name: z.string().nullable(), count: z.int() })),
  price: z.object({
    bands: z.array(z.object({ min: z.number().nullable(), max: z.number().nullable(), count: z.int() })),
  }),
  rating: z.array(z.object({ min: z.int(), count: z.int() })),
})

/** Links that narrow the list of products, with their counts; empty if these cannot be had now. */
export async function facets(own: OwnOperations, visit: RequestScope, query: URLSearchParams): Promise<string> {
  const filters = new URLSearchParams([...query].filter(([name, value]) => FILTERS.includes(name) && value !== ''))
  filters.set('price_bands', BANDS.join())
  const response = await own.call(visit, { method: 'GET', route: FACETS_ROUTE, query: `?${filters}` })
  if (!response.ok) return ''
  const { category_id: categories, price, rating } = Facets.parse(await response.json())
  const pathWith = (changes: Readonly<Record<string, string | null>>) => {
    const changed = new URLSearchParams([...query].filter(([name]) => name !== 'cursor' && !(name in changes)))
    for (const [name, value] of Object.entries(changes)) if (value !== null) changed.set(name, value)
    return `/admin/?${changed}`
  }
  const chosen = query.get('category_id')
  return `${(
    <nav class="facets" aria-label="Narrow the list">
      <h2>Category</h2>
      <ul>
        {categories.map(({ value, name, count }) => (
          <Facet
            path={pathWith({ category_id: chosen === String(value) ? null : String(value) })}
            isChosen={chosen === String(value)}
            {...{ name: name ?? 'Without a category', count }}
          />
        ))}
      </ul>
      <h2>Price</h2>
      <ul>
        {price.bands.map(({ min, max, count }) => {
          const isChosen =
            (query.get('min_price') ?? '') === String(min ?? '') &&
            (query.get('below_price') ?? '') === String(max ?? '')
          const band = { min_price: min === null ? null : String(min), below_price: max === null ? null : String(max) }
          const none = { min_price: null, below_price: null }
          const name = min === null ? `Below ${max}` : max === null ? `${min} and more` : `${min} to ${max}`
          return (
            <Facet path={pathWith({ ...(isChosen ? none : band), max_price: null })} {...{ name, count, isChosen }} />
          )
        })}
      </ul>
      <h2>Stars</h2>
      <ul>
        {rating.map(({ min, count }) => {
          const isChosen = query.get('min_rating') === String(min)
          const path = pathWith({ min_rating: isChosen ? null : String(min) })
          return <Facet path={path} {...{ name: `${min} and more`, count, isChosen }} />
        })}
      </ul>
    </nav>
  )}`
}

interface FacetProperties {
  readonly path: string
  readonly name: string
  readonly count: number
  readonly isChosen: boolean
}

function Facet({ path, name, count: number, isChosen }: FacetProperties) {
  if (number === 0 && !isChosen) return null
  return (
    <li>
      <a href={path} {...(isChosen && { 'aria-current': 'true' })}>
        <span dir="auto">{name}</span> <span class="quiet">{countText(number)}</span>
      </a>
    </li>
  )
}
