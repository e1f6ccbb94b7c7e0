import { z } from '@hono/zod-openapi'
import { whenThere } from '../../awaitable.ts'
import { ListParameters } from '../http/lists/page.ts'
import { type Catalog, operation } from '../http/operation.ts'
import { jsonResponse } from '../http/responses.ts'
import { fault } from '../http/validation/errors.ts'
import { valueList } from '../http/validation/fields.ts'
import { type CountFacets, FACET_NAMES } from '../storage/index/facets.ts'
import { Facets } from './schema.ts'
import { PRODUCTS, type ProductRow } from './stored.ts'

const BANDS_MAX = 20
const CATEGORIES_MAX = 200
const CATEGORIES = 20

const facetParameters = () => ({
  facets: valueList(z.enum(FACET_NAMES), FACET_NAMES.length).optional().describe('What to count by; all by default'),
  price_bands: valueList(z.number().gt(0), BANDS_MAX)
    .superRefine((bounds, context) => {
      // Zod also asks if a bound is not above 0.
      const isRight = context.issues.length === 0
      const ascend = bounds.every((bound, at) => at === 0 || bound > Number(bounds[at - 1]))
      if (isRight && !ascend) context.addIssue(fault.value('price_bands must ascend'))
    })
    .optional()
    .describe('The prices between bands, each higher than the one before'),
  category_limit: z
    .int()
    .min(1)
    .max(CATEGORIES_MAX)
    .default(CATEGORIES)
    .describe('How many categories to return, besides those in `category_id`'),
})

export function addFacets(catalog: Catalog, countFacets: CountFacets<ProductRow>): void {
  const filters = new ListParameters(PRODUCTS, 'filtered', [])
  operation(
    catalog,
    {
      name: 'read_product_facets',
      method: 'get',
      url: '/facets/products',
      tag: 'Facets',
      isFurther: true,
      description: 'Counts the products that match by category, price and rating.',
      path: z.object({}),
      query: () => z.object({ ...filters.schema().shape, ...facetParameters() }),
      body: z.undefined(),
      response: Facets,
      absent: [],
    },
    ({ query }, scope) => {
      const { facets = FACET_NAMES, price_bands: priceBands = [], category_limit: categoryLimit } = query
      const { query: list } = filters.selection({}, query)
      const names = FACET_NAMES.filter(name => facets.includes(name))
      return whenThere(countFacets({ list, names, priceBands, categoryLimit }), source =>
        jsonResponse(scope, { json: source.json, link: undefined, source }),
      )
    },
  )
}
