import { z } from '@hono/zod-openapi'
import { whenThere } from '../../awaitable.ts'
import { type Catalog, operation } from '../http/operation.ts'
import { jsonResponse, notFound } from '../http/responses.ts'
import { integerParameter } from '../http/validation/fields.ts'
import type { Ratings } from '../storage/rating.ts'
import { Rating } from './schema.ts'

export function addRatings(catalog: Catalog, ratings: Ratings): void {
  operation(
    catalog,
    {
      name: 'read_rating',
      method: 'get',
      url: '/ratings/products/{product_id}',
      tag: 'Ratings',
      isFurther: true,
      description: 'Reads what the reviews of a product say together.',
      path: z.object({ product_id: integerParameter() }),
      query: z.object({}),
      body: z.undefined(),
      response: Rating,
      absent: ['Product'],
    },
    ({ path: { product_id: id } }, scope) =>
      whenThere(ratings.read([id]), found => {
        const rating = found.get(id)
        if (!rating) return notFound('Product')
        return jsonResponse(scope, { json: JSON.stringify(rating), link: undefined, source: rating })
      }),
  )
}
