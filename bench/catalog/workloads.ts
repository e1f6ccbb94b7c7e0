import type { Load, RequestKind } from '../load-generator.ts'
import { LARGE, type Rows, USUAL } from './seed.ts'

/** A kind of request of a storefront. */
export interface CatalogRequests extends RequestKind {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** The paths as a route pattern. */
  readonly route: string
}

/** What a storefront does. */
export interface Workload extends Load {
  readonly title: string
  readonly kinds: readonly CatalogRequests[]
  /** The rows of the database that it starts from. */
  readonly rows: Rows
  /** Instead of those of the command line. */
  readonly connections?: number
  /** The most seconds in one go. */
  readonly secondsMax?: number
  /** What the connections of the command line send without a pause, while this load is sent over one connection. */
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

const readProduct: CatalogRequests = {
  method: 'GET',
  route: '/products/:id',
  paths: ids(USUAL.products).map(id => `/products/${id}`),
  bodies: [],
  share: 100,
}

const updateProduct: CatalogRequests = { ...readProduct, method: 'PUT', bodies: productBodies() }

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

export const WORKLOADS: readonly Workload[] = [
  workload('product', 'One product with its reviews: GET /products/{id}', readProduct),
  workload('review', 'One review: GET /reviews/{id}', {
    ...readProduct,
    route: '/reviews/:id',
    paths: ids(USUAL.reviews).map(id => `/reviews/${id}`),
  }),
  workload('category', 'One category with its products: GET /categories/{id}', {
    ...readProduct,
    route: '/categories/:id',
    paths: ids(USUAL.categories).map(id => `/categories/${id}`),
  }),
  workload('list-20', 'A list of 20 products: GET /products/?skip=…&limit=20', pages('products', 20)),
  workload('list-100', 'A list of 100 products: GET /products/?skip=…&limit=100', pages('products', 100)),
  workload(
    'categories',
    'A list of 10 categories with their products: GET /categories/?skip=…&limit=10',
    pages('categories', 10),
  ),
  workload('reviews', 'The reviews of a product: GET /reviews/products/{id}?limit=100', {
    ...readProduct,
    route: '/reviews/products/:id',
    paths: ids(USUAL.products).map(id => `/reviews/products/${id}?limit=100`),
  }),
  {
    ...workload('first-read', 'A product that was never read before: GET /products/{id}', {
      ...readProduct,
      paths: ids(LARGE.products).map(id => `/products/${id}`),
    }),
    once: true,
    rows: LARGE,
    secondsMax: 2,
  },
  workload('create', 'Create a product, durably: POST /products/', createProduct),
  {
    ...workload('create-256', 'Create a product, durably, over 256 connections: POST /products/', createProduct),
    connections: 256,
  },
  workload('update', 'Update a product, durably: PUT /products/{id}', updateProduct),
  workload('create-review', 'Create a review, durably: POST /reviews/', createReview),
  workload(
    'reads-and-reviews',
    '95 % reads of a product, 5 % new reviews',
    { ...readProduct, share: 95 },
    { ...createReview, share: 5 },
  ),
  workload(
    'lists-and-updates',
    '50 % lists of 20 products, 45 % reads of a product, 5 % updates',
    { ...pages('products', 20), share: 50 },
    { ...readProduct, share: 45 },
    { ...updateProduct, share: 5 },
  ),
  {
    ...workload(
      'reader',
      'One connection that reads products while the others create some without a pause',
      readProduct,
    ),
    meanwhile: { name: 'reader-meanwhile', kinds: [createProduct], once: false },
  },
]

/** All kinds of requests of a workload. */
export function kindsOf({ kinds, meanwhile }: Workload): CatalogRequests[] {
  return [...kinds, ...(meanwhile?.kinds ?? [])]
}

/** The collection whose rows the workload adds to with each request, if it does. */
export function createdBy({ kinds }: Load): 'products' | 'reviews' | null {
  const [kind, ...others] = kinds
  if (kind?.method !== 'POST' || others.length > 0) return null
  return kind.paths[0] === '/reviews/' ? 'reviews' : 'products'
}

function workload(name: string, title: string, ...kinds: CatalogRequests[]): Workload {
  return { name, title, kinds, once: false, rows: USUAL }
}

function pages(collection: 'products' | 'categories', limit: number): CatalogRequests {
  const paths = Array.from(
    { length: Math.ceil(USUAL[collection] / limit) },
    (_, page) => `/${collection}/?skip=${page * limit}&limit=${limit}`,
  )
  return { method: 'GET', route: `/${collection}/`, paths, bodies: [], share: 100 }
}

/** The ids of seeded rows. */
function ids(rows: number): number[] {
  return Array.from({ length: rows }, (_, index) => index + 1)
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
