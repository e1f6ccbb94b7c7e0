import { z } from 'zod'

const WHOLE_LIST = 1_000_000

const Priced = z.object({ id: z.int(), price: z.number() })
const Commented = z.array(z.object({ comment: z.string() }))
const WithProducts = z.object({ products: z.array(Priced) })
const WithProduct = z.object({ product: Priced })
const WithReviews = z.object({ reviews: Commented })

/** One way to read something, and what it shows. */
export interface Source<Value> {
  readonly key: string
  readonly path: string
  readonly shown: (body: unknown) => Value
}

/** The key of the list of all reviews. */
export const ALL_REVIEWS = 'all reviews'

/** The key of the list of a product's reviews. */
export function listKey(productId: number): string {
  return `reviews of product ${productId}`
}

/** Every way to read the price of a product. */
export function sourcesOfRegister(key: string, id: number, categoryId: number, reviewId: number): Source<number>[] {
  const priceIn = (products: readonly z.infer<typeof Priced>[]) =>
    products.find(product => product.id === id)?.price ?? 0
  const ofList = (body: unknown) => priceIn(z.array(Priced).parse(body))
  return [
    { key, path: `/products/${id}`, shown: body => Priced.parse(body).price },
    { key, path: `/products/?after_id=${id - 1}&limit=1`, shown: ofList },
    { key, path: '/products/?limit=20', shown: ofList },
    { key, path: '/products/?limit=1000', shown: ofList },
    { key, path: `/products/${categoryId}/products`, shown: ofList },
    { key, path: `/categories/${categoryId}`, shown: body => priceIn(WithProducts.parse(body).products) },
    { key, path: `/reviews/${reviewId}`, shown: body => WithProduct.parse(body).product.price },
    {
      key,
      path: `/reviews/products/${id}?limit=1`,
      shown: body =>
        priceIn(
          z
            .array(WithProduct)
            .parse(body)
            .map(({ product }) => product),
        ),
    },
  ]
}

/** Every way to read the reviews of a product. */
export function listSources(productId: number): [Source<readonly string[]>, ...Source<readonly string[]>[]] {
  const key = listKey(productId)
  return [
    { key, path: `/products/${productId}`, shown: body => commentsIn(WithReviews.parse(body).reviews) },
    { key, path: `/reviews/products/${productId}`, shown: body => commentsIn(Commented.parse(body)) },
  ]
}

export function allReviewsSources(userId: number): Source<readonly string[]>[] {
  const shown = (body: unknown) => commentsIn(Commented.parse(body))
  return ['/reviews/', `/reviews/users/${userId}`].map(path => ({
    key: ALL_REVIEWS,
    path: `${path}?limit=${WHOLE_LIST}`,
    shown,
  }))
}

function commentsIn(reviews: z.infer<typeof Commented>): string[] {
  return reviews.map(({ comment }) => comment)
}
