import type { Load, RequestKind } from '../load-generator.ts'
import { LARGE, type Rows, USUAL } from './seed.ts'

/** A kind of request of a storefront. */
export interface CatalogRequests extends RequestKind {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** The paths as a route pattern. */
  readonly route: string
}

/** A load that a storefront causes. */
export interface Workload extends Load {
  readonly title: string
  readonly kinds: readonly CatalogRequests[]
  /** The rows of the database that it starts from. */
  readonly rows: Rows
  /** Instead of those of the command line. */
  readonly connections?: number
  /** Limit on the length of a round, in seconds. */
  readonly secondsMax?: number
  /** A load for all connections of the command line, without a pause. This load then uses one connection more. */
  readonly meanwhile?: Load & { readonly kinds: readonly CatalogRequests[] }
}

/** A fixed answer of the runtime ceiling. */
export interface CannedAnswer {
  readonly method: string
  readonly route: string
  readonly body: string
}

/** By the name of the workload: one for each kind of its requests. */
export type CannedAnswers = Readonly<Record<string, readonly CannedAnswer[]>>

/** Enough that updates rarely store the value that is already there, which SQLite would skip. */
const BODIES = 1_000

/** Requested of a large database: as many items, spread evenly. */
const PATHS_MAX = 100_000

const createProduct: CatalogRequests = {
  method: 'POST',
  route: '/products/',
  paths: ['/products/'],
  bodies: productBodies(),
  share: 100,
}

const createReview: CatalogRequests = {
  method: 'POST',
  route: '/reviews/',
  paths: ['/reviews/'],
  bodies: reviewBodies(),
  share: 100,
}

const eachProductOnce: CatalogRequests = {
  method: 'GET',
  route: '/products/:id',
  paths: Array.from({ length: LARGE.products }, (_, index) => `/products/${index + 1}`),
  bodies: [],
  share: 100,
}

/** All workloads on a database with so many rows. */
export function workloadsOver(rows: Rows): readonly Workload[] {
  const readProduct = reads('/products/:id', rows.products)
  const updateProduct: CatalogRequests = { ...readProduct, method: 'PUT', bodies: productBodies() }
  const lists = (limit: number) => pages('/products/', rows.products, limit)
  const workload = (name: string, title: string, ...kinds: CatalogRequests[]): Workload => {
    return { name, title, kinds, once: false, rows }
  }
  return [
    workload('product', 'One product with its reviews', readProduct),
    workload('review', 'One review', reads('/reviews/:id', rows.reviews)),
    workload('category', 'One category with its products', reads('/categories/:id', rows.categories)),
    workload('list-20', 'A list of 20 products', lists(20)),
    workload('list-100', 'A list of 100 products', lists(100)),
    workload('categories', 'A list of 10 categories', pages('/categories/', rows.categories, 10)),
    workload('reviews', 'The reviews of a product', reads('/reviews/products/:id', rows.products, '?limit=100')),
    {
      ...workload('first-read', 'A product that was never read before', eachProductOnce),
      once: true,
      rows: LARGE,
      secondsMax: 2,
    },
    workload('create', 'Create a product, durably', createProduct),
    { ...workload('create-256', 'The same over 256 connections', createProduct), connections: 256 },
    workload('create-keyed', 'Create a product with an Idempotency-Key', { ...createProduct, keyed: true }),
    workload('update', 'Update a product, durably', updateProduct),
    workload('create-review', 'Create a review, durably', createReview),
    workload(
      'reads-and-reviews',
      '95 % product reads, 5 % new reviews',
      { ...readProduct, share: 95 },
      { ...createReview, share: 5 },
    ),
    workload(
      'lists-and-updates',
      '50 % lists, 45 % reads, 5 % updates',
      { ...lists(20), share: 50 },
      { ...readProduct, share: 45 },
      { ...updateProduct, share: 5 },
    ),
    {
      ...workload('reader', 'One reader while the others create products', readProduct),
      meanwhile: { name: 'reader-meanwhile', kinds: [createProduct], once: false },
    },
  ]
}

export const WORKLOADS = workloadsOver(USUAL)

/** All kinds of requests of a workload. */
export function kindsOf({ kinds, meanwhile }: Workload): CatalogRequests[] {
  return [...kinds, ...(meanwhile?.kinds ?? [])]
}

/** Whether the workload changes the database. */
export function changes(workload: Workload): boolean {
  return kindsOf(workload).some(({ method }) => method !== 'GET')
}

/** The collection whose rows the workload adds to with each request, if it does. */
export function createdBy({ kinds }: Load): 'products' | 'reviews' | null {
  const [kind, ...others] = kinds
  if (kind?.method !== 'POST' || others.length > 0) return null
  return kind.paths[0] === '/reviews/' ? 'reviews' : 'products'
}

/** Reads of single items by their ids. */
function reads(route: string, items: number, query = ''): CatalogRequests {
  const step = Math.max(1, Math.floor(items / PATHS_MAX))
  const paths = Array.from(
    { length: Math.floor(items / step) },
    (_, index) => route.replace(':id', String(index * step + 1)) + query,
  )
  return { method: 'GET', route, paths, bodies: [], share: 100 }
}

/** Reads of the pages of a list. */
function pages(route: string, items: number, limit: number): CatalogRequests {
  const paths = Array.from(
    { length: Math.ceil(items / limit) },
    (_, page) => `${route}?skip=${page * limit}&limit=${limit}`,
  )
  return { method: 'GET', route, paths, bodies: [], share: 100 }
}

/** Different valid bodies, all of the same length. */
function productBodies(): string[] {
  return Array.from({ length: BODIES }, (_, index) => {
    const number = BODIES + index
    return JSON.stringify({
      name: `Measured product ${number}`,
      description: 'A product that a measurement made, with a description about as long as those of other products.',
      price: number + 0.25,
    })
  })
}

/** Different valid bodies, all of the same length: product ids of four digits, user ids of three. */
function reviewBodies(): string[] {
  return Array.from({ length: BODIES }, (_, index) =>
    JSON.stringify({
      product_id: 1_000 + index * 4,
      user_id: 100 + (index % 100),
      rating: 1 + (index % 5),
      comment: 'A review that a measurement wrote.',
    }),
  )
}
