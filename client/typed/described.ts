import type {
  AfterQuery,
  Category,
  CategoryCreate,
  CategoryLine,
  Created,
  FacetQuery,
  Facets,
  FollowOptions,
  Highlights,
  PageQuery,
  Product,
  ProductCreate,
  ProductLine,
  ProductMembers,
  ProductQuery,
  ProductReviewQuery,
  Rating,
  Review,
  ReviewCreate,
  ReviewLine,
  ReviewQuery,
  SearchQuery,
  User,
  UserCreate,
  UserLine,
  UserReviewQuery,
  UserUpdate,
  ValidationError,
} from '../index.js'
import type { components as Specified } from './specified.ts'
import type { operations, paths, components as Strict } from './strict.ts'

/** Compares the client's types with those that are generated from both descriptions. Each line that does not hold is an error. */

type True<Claim extends true> = Claim
type Fits<One, Other> = [One] extends [Other] ? true : false
type Alike<One, Other> = Fits<One, Other> extends true ? Fits<Other, One> : false
type Same<One, Other> = Alike<One, Other> extends true ? Alike<keyof One, keyof Other> : false

/** A body as it is sent: JSON leaves out members that are undefined. */
type Sent<Body> = { [Name in keyof Body]: Exclude<Body[Name], undefined> }

type Schema<Name extends keyof Strict['schemas']> = Strict['schemas'][Name]

export type Resources = [
  True<Same<Category, Schema<'Category'>>>,
  True<Same<Product, Schema<'Product'>>>,
  True<Same<Review, Schema<'Review'>>>,
  // The strict description knows that the password is masked.
  True<Same<Omit<User, 'password'>, Omit<Schema<'User'>, 'password'>>>,
  True<Fits<Schema<'User'>, User>>,
  True<Same<Created, Schema<'Creation'>>>,
  True<Fits<Schema<'ValidationError'>, ValidationError>>,
]

export type Bodies = [
  True<Same<CategoryCreate, Schema<'CategoryCreate'>>>,
  // The service ignores the member that is refused.
  True<Same<Omit<ProductCreate, 'category_id'>, Schema<'ProductCreate'>>>,
  True<Same<ReviewCreate, Schema<'ReviewCreate'>>>,
  True<Same<Sent<UserCreate>, Schema<'UserCreate'>>>,
  True<Same<Sent<UserUpdate>, Schema<'UserUpdate'>>>,
  True<Same<Sent<CategoryLine>, Schema<'CategoryLine'>>>,
  True<Same<Sent<ProductLine>, Schema<'ProductLine'>>>,
  True<Same<Sent<ReviewLine>, Schema<'ReviewLine'>>>,
  True<Fits<Sent<UserLine>, Schema<'UserLine'>>>,
]

export type AsSpecified = [
  True<Fits<Category, Specified['schemas']['Category']>>,
  True<Fits<Product, Specified['schemas']['Product']>>,
  True<Fits<Review, Specified['schemas']['Review']>>,
  True<Fits<User, Specified['schemas']['User']>>,
  True<Fits<CategoryCreate, Specified['schemas']['CategoryCreate']>>,
  True<Fits<ProductCreate, Specified['schemas']['ProductCreate']>>,
  True<Fits<ReviewCreate, Specified['schemas']['ReviewCreate']>>,
  True<Fits<Sent<UserCreate>, Specified['schemas']['UserCreate']>>,
]

type Query<Name extends keyof operations> = NonNullable<operations[Name]['parameters']['query']>
type Get<Path extends keyof paths> = paths[Path]['get'] extends { parameters: { query?: infer Parameters } }
  ? keyof NonNullable<Parameters>
  : never

/** Every described parameter can be given, with every value, and no other. */
type Takes<Given, Described> =
  Alike<keyof Given | 'fields', keyof Described> extends true ? Fits<Omit<Described, 'fields'>, Given> : false

export type Queries = [
  True<Takes<SearchQuery, Query<'read_categories_categories__get'>>>,
  True<Takes<SearchQuery, Query<'read_users_users__get'>>>,
  True<Takes<ProductQuery, Query<'read_products_products__get'>>>,
  True<Takes<AfterQuery, Query<'read_products_by_category_products__category_id__products_get'>>>,
  True<Takes<ReviewQuery, Query<'read_reviews_reviews__get'>>>,
  True<Takes<ProductReviewQuery, Query<'read_reviews_by_product_reviews_products__product_id__get'>>>,
  True<Takes<UserReviewQuery, Query<'read_reviews_by_user_reviews_users__user_id__get'>>>,
  True<Takes<PageQuery, Query<'read_reviews_by_product_and_user_reviews_products__product_id__users__user_id__get'>>>,
  True<Alike<keyof FacetQuery | 'facets', Get<'/facets/products'>>>,
  // The client does not poll.
  True<Alike<keyof Omit<FollowOptions, 'signal' | 'onConnection'> | 'wait' | 'limit', Get<'/events'>>>,
]

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

type Words<Name extends keyof operations> = Query<Name> extends { fields?: (infer Word)[] } ? Word : never

export type Members = [
  True<Alike<keyof Category | '*', Words<'read_categories_categories__get'>>>,
  True<Alike<keyof ProductMembers | '*', Words<'read_products_products__get'>>>,
  True<Alike<keyof Review | '*', Words<'read_reviews_reviews__get'>>>,
  True<Alike<keyof User | '*', Words<'read_users_users__get'>>>,
]
