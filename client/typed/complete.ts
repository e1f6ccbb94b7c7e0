import type {
  AfterQuery,
  Category,
  FacetQuery,
  Facets,
  FollowOptions,
  Highlights,
  PageQuery,
  ProductMembers,
  ProductQuery,
  ProductReviewQuery,
  Rating,
  Review,
  ReviewQuery,
  SearchQuery,
  User,
  UserReviewQuery,
} from '../index.js'
import type { components, operations, paths } from './strict.ts'

/** The other direction of `described.ts`: whatever the client can ask for is described. */

type True<Claim extends true> = Claim
type SameKeys<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false

type Query<Name extends keyof operations> = NonNullable<operations[Name]['parameters']['query']>
type Words<Name extends keyof operations> = Query<Name> extends { fields?: (infer Word)[] } ? Word : never
type Get<Path extends keyof paths> = paths[Path]['get'] extends { parameters: { query?: infer Parameters } }
  ? keyof NonNullable<Parameters>
  : never

export type Queries = [
  True<SameKeys<keyof SearchQuery | 'fields', keyof Query<'read_categories_categories__get'>>>,
  True<SameKeys<keyof SearchQuery | 'fields', keyof Query<'read_users_users__get'>>>,
  True<SameKeys<keyof ProductQuery | 'fields', keyof Query<'read_products_products__get'>>>,
  True<
    SameKeys<keyof AfterQuery | 'fields', keyof Query<'read_products_by_category_products__category_id__products_get'>>
  >,
  True<SameKeys<keyof ReviewQuery | 'fields', keyof Query<'read_reviews_reviews__get'>>>,
  True<
    SameKeys<
      keyof ProductReviewQuery | 'fields',
      keyof Query<'read_reviews_by_product_reviews_products__product_id__get'>
    >
  >,
  True<SameKeys<keyof UserReviewQuery | 'fields', keyof Query<'read_reviews_by_user_reviews_users__user_id__get'>>>,
  True<
    SameKeys<
      keyof PageQuery | 'fields',
      keyof Query<'read_reviews_by_product_and_user_reviews_products__product_id__users__user_id__get'>
    >
  >,
  True<SameKeys<keyof FacetQuery | 'facets', Get<'/facets/products'>>>,
]

type Fits<One, Other> = [One] extends [Other] ? true : false
type Schema<Name extends keyof components['schemas']> = components['schemas'][Name]
type Answer<Path extends keyof paths> = paths[Path]['get'] extends {
  responses: { 200: { content: { 'application/json': infer Body } } }
}
  ? Body
  : never

export type Answers = [
  // Five counts, which the description only calls several.
  True<Fits<Rating, Schema<'Rating'>>>,
  True<Fits<Omit<Schema<'Rating'>, 'histogram'>, Omit<Rating, 'histogram'>>>,
  True<Fits<Schema<'Highlights'>, Highlights | null>>,
  True<Fits<Highlights, Schema<'Highlights'>>>,
  True<Fits<{ count: number } & Facets, Answer<'/facets/products'>>>,
  True<Fits<Answer<'/facets/products'>, { count: number } & Partial<Facets>>>,
]

export type Events = [
  // It does not poll.
  True<SameKeys<keyof Omit<FollowOptions, 'signal' | 'onConnection'> | 'wait' | 'limit', Get<'/events'>>>,
]

export type Members = [
  True<SameKeys<keyof Category | '*', Words<'read_categories_categories__get'>>>,
  True<SameKeys<keyof ProductMembers | '*', Words<'read_products_products__get'>>>,
  True<SameKeys<keyof Review | '*', Words<'read_reviews_reviews__get'>>>,
  True<SameKeys<keyof User | '*', Words<'read_users_users__get'>>>,
]
