import { z } from '@hono/zod-openapi'
import { whenThere } from '../../awaitable.ts'
import { type Catalog, operation } from '../http/operation.ts'
import { jsonResponse, notFound } from '../http/responses.ts'
import type { ResourceStore } from '../storage/store.ts'
import { Rating } from './schema.ts'
import type { ProductRow } from './stored.ts'

export function addRatings(catalog: Catalog, products: ResourceStore<ProductRow>): void {
  const rated = products.showing(new Set(['rating']))
  operation(
    catalog,
    {
      name: 'read_rating',
      method: 'get',
      url: '/ratings/products/{product_id}',
      tag: 'Ratings',
      isFurther: true,
      description: 'Reads what the reviews of a product say together.',
      path: z.object({ product_id: z.int() }),
      query: () => z.object({}),
      body: z.undefined(),
      response: Rating,
      absent: ['Product'],
    },
    ({ path: { product_id: id } }, scope) =>
      whenThere(rated.find(id), found => {
        if (!found) return notFound('Product')
        const { rating }: { readonly rating: object } = JSON.parse(found.json)
        return jsonResponse(scope, { json: JSON.stringify(rating), link: undefined, source: rating })
      }),
  )
}
