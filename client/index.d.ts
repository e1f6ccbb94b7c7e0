/**
 * Connects to a Stockroom service, for example `https://shop.example`. Throws if the address or the key cannot be sent, or if the
 * address has a query or fragment.
 */
export function createClient(address: string | URL, options?: ClientOptions): Client

/**
 * The tag of what `get`, `create`, `update` or `edit` returned, for `ifMatch`. Undefined for everything else, copies and items of
 * lists included.
 */
export function tagOf(resource: object): string | undefined

export interface ClientOptions {
  /** An access key. Never put one into a web page. */
  readonly key?: string | undefined
  /** How often a request is sent again if its failure may pass. Default 4. */
  readonly retries?: number | undefined
  /** How long one attempt may take, its answer included. Default 10,000. */
  readonly timeoutMs?: number | undefined
  /** Used instead of the global `fetch`, for example by tests. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
}

/** `retries` and `timeoutMs` as in `ClientOptions`, for one call. */
export interface CallOptions {
  readonly retries?: number | undefined
  readonly timeoutMs?: number | undefined
  /** If it is aborted, the call is rejected with its reason. What was sent may be done all the same. */
  readonly signal?: AbortSignal | undefined
}

export interface CreateOptions extends CallOptions {
  /** Names what you create, for example the id of an order: within 24 hours, nothing is created twice under one key. */
  readonly idempotencyKey?: string | undefined
}

export interface WriteOptions extends CallOptions {
  /**
   * The tag that the resource must still have, from `tagOf`. If somebody else has changed it since, nothing is done, and the call
   * throws a `Conflict`, with `mayBeDone` if an earlier attempt had no answer, or a 503. Undefined is refused, because a write
   * without a tag undoes what others have written.
   */
  readonly ifMatch?: string | undefined
}

export interface GetOptions<Field> extends CallOptions {
  /** The members to get; `*` stands for all that are there without `fields`, or with none. */
  readonly fields?: readonly Field[] | undefined
}

export interface Client {
  readonly categories: Resource<Category, Category, CategoryCreate, CategoryCreate, CategoryLine, SearchQuery>
  readonly products: Products
  readonly users: Resource<User, User, UserCreate, UserUpdate, UserLine, SearchQuery>
  readonly reviews: Reviews
  /**
   * Follows all changes: events, in order, none lost and none twice, for as long as you like. It connects again and goes on by
   * itself, and ends when `signal` is aborted, or `return()` is called. It throws if the first connection fails, or if the server
   * refuses.
   */
  events(options?: FollowOptions): Followed
}

/** The operations on one collection. Everything that fails throws a `StockroomError`. */
export interface Resource<Item, Members, Create, Update, Line, Query> extends List<Item, Members, Query> {
  get<const Field extends keyof Members | '*' = '*'>(
    id: number,
    options?: GetOptions<Field>,
  ): Promise<Chosen<Item, Members, Field>>
  create(resource: Create, options?: CreateOptions): Promise<Item>
  /**
   * Creates any number, in requests of at most 8 MiB and 256 passwords. Each request creates all of its lines or none. If one
   * fails, or `lines` throws an error, `created` of the error has the ids of the requests before. The reason of `signal` has none.
   */
  createMany(lines: Iterable<Line> | AsyncIterable<Line>, options?: CreateOptions): Promise<Created>
  /** Replaces all fields, whatever others have written meanwhile, unless `ifMatch` says what must be there. */
  update(id: number, resource: Update, options?: WriteOptions): Promise<Item>
  /**
   * Reads, changes and writes, and begins again if somebody else was faster. `change` may run several times. Throws a `Conflict`
   * if an answer was lost, somebody may have been faster, and to do the change again might do it twice.
   */
  edit(id: number, change: (resource: Item) => Update | Promise<Update>, options?: CallOptions): Promise<Item>
  /** Resolves to what was deleted, or to null if an earlier attempt of this call, without an answer, has done it. */
  delete(id: number, options?: WriteOptions): Promise<Item | null>
}

export interface List<Item, Members, Query> {
  /** One page. An empty array is as good as none, but `id: []` gives an empty page. */
  list<const Field extends keyof Members | '*' = '*'>(
    query?: Query & Fields<Field>,
    options?: CallOptions,
  ): Promise<Page<Chosen<Item, Members, Field>>>
  /** All items. Asks for the next page when you have taken all of the one before; `limit` is the size of a page. */
  all<const Field extends keyof Members | '*' = '*'>(
    query?: Query & Fields<Field>,
    options?: CallOptions,
  ): AsyncGenerator<Chosen<Item, Members, Field>, void, undefined>
}

export interface Products
  extends Resource<Product, ProductMembers, ProductCreate, ProductCreate, ProductLine, ProductQuery> {
  create(product: ProductCreate, options?: CreateOptions & { readonly category?: number | undefined }): Promise<Product>
  /** The products of one category. */
  of(parent: { readonly category: number }): List<Product, ProductMembers, AfterQuery>
  /** How many products match, by category, price and rating. `id: []` is refused here. */
  facets<const Name extends keyof Facets = keyof Facets>(
    query?: FacetQuery & { readonly facets?: readonly Name[] | undefined },
    options?: CallOptions,
  ): Promise<{ count: number } & Pick<Facets, Name>>
  rating(id: number, options?: CallOptions): Promise<Rating>
}

export interface Reviews extends Resource<Review, Review, ReviewCreate, ReviewCreate, ReviewLine, ReviewQuery> {
  /** The reviews of a product, by a user, or of a product by a user. */
  of(parent: { readonly product: number; readonly user?: undefined }): List<Review, Review, ProductReviewQuery>
  of(parent: { readonly product?: undefined; readonly user: number }): List<Review, Review, UserReviewQuery>
  of(parent: { readonly product: number; readonly user: number }): List<Review, Review, PageQuery>
}

export interface Page<Item> {
  items: Item[]
  /** How many items there are in all, up to the `count` that was asked for; undefined without `count`. */
  total: number | undefined
  /** Whether `next` gives a page. */
  hasNext: boolean
  /**
   * The cursor of the next page: give it to `list` with the same parameters. Undefined after the last page; if there was a `skip`,
   * which leads on by itself; and if the list is in the order of ids: then `after_id`, with the id of the last item, leads on.
   */
  cursor: string | undefined
  /** Gets the next page, or null after the last. `signal` is not that of this page; the other options are, unless you give them. */
  next(options?: CallOptions): Promise<Page<Item> | null>
}

/** The members that `fields` asks for. */
export type Chosen<Item, Members, Field> = Pick<
  Members,
  (Fixed<Field> & keyof Members) | ('*' extends Field ? keyof Item & keyof Members : never)
>

/** Keeps the compiler from guessing `Field` by where the result goes. TypeScript has `NoInfer` for it from 5.4 on. */
type Fixed<Field> = [Field][Field extends unknown ? 0 : never]

export interface Fields<Field> {
  readonly fields?: readonly Field[] | undefined
}

export interface Created {
  created: number
  ids: number[]
}

// Parameters of lists

export type OneOrMore<Value> = Value | readonly Value[]

export interface AfterQuery {
  readonly after_id?: number | undefined
}

export interface PageQuery extends AfterQuery {
  readonly limit?: number | undefined
  readonly skip?: number | undefined
}

export interface SelectionQuery extends PageQuery {
  readonly cursor?: string | undefined
  /** How far to count the items in all, for `total`. */
  readonly count?: number | undefined
}

export interface SearchQuery extends SelectionQuery {
  readonly q?: string | undefined
  readonly id?: OneOrMore<number> | undefined
  readonly sort?: 'id' | '-id' | 'name' | '-name' | 'relevance' | undefined
}

export interface ProductFilters {
  readonly q?: string | undefined
  readonly id?: OneOrMore<number> | undefined
  /** 0 stands for products without a category. */
  readonly category_id?: OneOrMore<number> | undefined
  readonly min_price?: number | undefined
  readonly max_price?: number | undefined
  readonly below_price?: number | undefined
  readonly min_rating?: number | undefined
}

export interface ProductQuery extends SelectionQuery, ProductFilters {
  readonly sort?:
    | 'id'
    | '-id'
    | 'name'
    | '-name'
    | 'price'
    | '-price'
    | 'rating'
    | '-rating'
    | 'reviews'
    | '-reviews'
    | 'relevance'
    | undefined
}

export interface FacetQuery extends ProductFilters {
  readonly price_bands?: readonly number[] | undefined
  readonly category_limit?: number | undefined
}

export interface UserReviewQuery extends SelectionQuery {
  readonly rating?: OneOrMore<number> | undefined
  readonly sort?: 'id' | '-id' | undefined
}

export interface ReviewQuery extends UserReviewQuery {
  readonly product_id?: OneOrMore<number> | undefined
  readonly user_id?: OneOrMore<number> | undefined
}

export interface ProductReviewQuery extends SelectionQuery {
  readonly rating?: OneOrMore<number> | undefined
  readonly sort?: 'id' | '-id' | 'rating' | '-rating' | undefined
}

// Resources

export interface CategoryCreate {
  name: string
  description: string
}

export interface CategoryLine extends CategoryCreate {
  id?: number | undefined
}

export interface Category extends CategoryCreate {
  id: number
  /** At most 100; `products.of({ category })` has all. */
  products: EmbeddedProduct[]
}

interface ProductFields {
  name: string
  description: string
  price: number
}

export interface ProductCreate extends ProductFields {
  /** The service ignores it here: `create` takes `{ category: 3 }` as an option, and an update keeps the category. */
  category_id?: undefined
}

export interface ProductLine extends ProductFields {
  id?: number | undefined
  category_id?: number | null | undefined
}

export interface EmbeddedProduct extends ProductFields {
  id: number
}

export interface Product extends ProductFields {
  id: number
  /** At most 100; `reviews.of({ product })` has all. */
  reviews: EmbeddedReview[]
}

/** The members that `fields` can choose. */
export interface ProductMembers extends Product {
  category_id: number | null
  rating: Rating
  /** Null without a word in `q`. */
  highlights: Highlights | null
}

export interface Rating {
  average: number | null
  count: number
  /** How many reviews have one star, two, …, five. */
  histogram: [number, number, number, number, number]
  /** `sort: 'rating'` orders products by this. */
  score: number
}

export interface Highlights {
  name: HighlightPart[]
  description: HighlightPart[]
}

export interface HighlightPart {
  text: string
  match: boolean
}

export interface Facets {
  category_id: { value: number; name: string | null; count: number }[]
  price: {
    min: number | null
    max: number | null
    bands: { min: number | null; max: number | null; count: number }[]
  }
  rating: { min: number; count: number }[]
}

export interface ReviewCreate {
  product_id: number
  user_id: number
  rating: number
  comment: string
}

export interface ReviewLine extends ReviewCreate {
  id?: number | undefined
}

export interface EmbeddedReview extends ReviewCreate {
  id: number
}

export interface Review extends EmbeddedReview {
  user: EmbeddedUser
  product: EmbeddedProduct
}

export interface EmbeddedUser {
  id: number
  name: string
  avatar: string
}

export interface UserFlags {
  is_active: number
  is_admin: number
  is_banned: number
  is_blocked: number
  is_deleted: number
  is_suspended: number
  is_verified: number
}

interface UserFields {
  name: string
  email: string
  avatar: string
  password: string
}

export interface UserCreate extends UserFields, Partial<Record<keyof UserFlags, number | undefined>> {}

/** A password of ten asterisks, as in every answer, keeps the stored one. A flag that is left out keeps its value. */
export type UserUpdate = UserCreate

export type UserLine = Omit<UserCreate, 'password'> & { id?: number | undefined } & (
    | { password: string; password_hash?: string | undefined }
    | { password_hash: string; password?: string | undefined }
  )

export interface User extends UserFields, UserFlags {
  id: number
  /** At most 100; `reviews.of({ user })` has all. */
  reviews: EmbeddedReview[]
}

// The change feed

export interface FollowOptions {
  /** The id of the last event that you have seen, or `start` for the oldest kept one. Without it, you get events from now on. */
  readonly since?: string | null | undefined
  /** Types of events, or resources for all events of them. */
  readonly types?: readonly (ChangeEvent['type'] | 'product' | 'category' | 'review' | 'user')[] | undefined
  /** Only events of these products and their reviews. */
  readonly product_id?: OneOrMore<number> | undefined
  /** Called with true when the stream is open, with false when it is lost or ends. */
  readonly onConnection?: ((isConnected: boolean) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

export interface Followed extends AsyncGenerator<CatalogEvent, void, undefined> {
  /** The id to go on after. It also moves while nothing passes your filters, so it expires later than your last event. */
  readonly position: string | undefined
  /** Whether the stream is open now. If it is not, changes come when it is again. */
  readonly isConnected: boolean
}

/** `ready` comes once, when the position is fixed. `reset` says that events are missing: read everything again, and go on. */
export type CatalogEvent = ChangeEvent | StreamEvent<'ready', { resumed: boolean }> | ResetEvent

export type ResetEvent = StreamEvent<'reset', { reason: 'expired' | 'unknown' }>

export type ChangeEvent =
  | CloudEvent<
      'product.created' | 'product.updated',
      { id: number; name: string; price: number; category_id: number | null }
    >
  | CloudEvent<'category.created' | 'category.updated', { id: number; name: string }>
  | CloudEvent<'review.created' | 'review.deleted', ReviewChange>
  | CloudEvent<'review.updated', ReviewChange & { from_product_id: number }>
  | CloudEvent<
      'product.deleted' | 'category.deleted' | 'user.created' | 'user.updated' | 'user.deleted',
      { id: number }
    >
  | CloudEvent<'reviews.deleted', { user_id: number; count: number; product_ids: number[] | null }>
  | CloudEvent<
      'products.imported' | 'categories.imported' | 'users.imported' | 'reviews.imported',
      { count: number; first_id: number; last_id: number }
    >

interface ReviewChange {
  id: number
  product_id: number
  user_id: number
  rating: number
}

/** CloudEvents 1.0. */
interface CloudEvent<Type extends string, Data> {
  specversion: '1.0'
  id: string
  source: string
  type: Type
  subject: string
  /** The writer's clock; it says nothing about the order. */
  time: string
  data: Data
}

interface StreamEvent<Type extends string, Data> {
  id: string
  type: Type
  data: Data
}

// Errors

/** Any answer but a success, and no answer at all. The others are kinds of it. */
export class StockroomError extends Error {
  constructor(facts: ErrorFacts)
  /** Undefined if there was no answer. */
  status: number | undefined
  /** What the server says about it. */
  detail: string | ValidationError[]
  /** Seconds after which the same request may succeed. */
  retryAfter: number | undefined
  /** Whether an attempt had no answer, or a 503, so that what you asked for may have been done. */
  mayBeDone: boolean
  /** Ids of what `createMany` had created before it failed. */
  created: number[]
}

/** 404. */
export class NotFound extends StockroomError {
  /** `Product`, `Category`, `Review`, `User`, or null if the server has no such operation. */
  resource: string | null
}

/** 422. */
export class Invalid extends StockroomError {
  errors: ValidationError[]
}

/** 412: somebody else has changed it. */
export class Conflict extends StockroomError {}

/** 401 and 403: the key is missing, wrong, or not allowed to do this. */
export class Unauthorized extends StockroomError {}

/** 429, after all retries, or if `retryAfter` is more than a minute. */
export class RateLimited extends StockroomError {}

/** No answer, 408, 409, or any status from 500 on, after all retries. */
export class Unavailable extends StockroomError {}

export interface ValidationError {
  loc: (string | number)[]
  msg: string
  type: string
}

export interface ErrorFacts {
  request: string
  status?: number | undefined
  detail: string | ValidationError[]
  retryAfter?: number | undefined
  mayBeDone?: boolean | undefined
  cause?: unknown
}
