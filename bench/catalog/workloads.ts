import type { Load } from '../load-generator.ts'

/** One kind of request that a storefront sends. */
export interface Workload extends Load {
  readonly title: string
  readonly method: 'GET' | 'POST' | 'PUT'
  /** The paths as a route pattern. */
  readonly route: string
}

/** The fixed answer of the runtime ceiling. */
export interface CannedAnswer {
  readonly method: string
  readonly route: string
  readonly body: string
}

export const WORKLOADS = ['product', 'list', 'reviews', 'create', 'update']

const PAGE = 100

/** Enough that updates rarely store the value that is already there, which SQLite would skip. */
const BODIES = 1_000

export function workloadsOver(productIds: readonly number[]): Workload[] {
  return [
    {
      name: 'product',
      title: 'One product with its reviews: GET /products/{id}',
      method: 'GET',
      route: '/products/:id',
      paths: productIds.map(id => `/products/${id}`),
      bodies: [],
    },
    {
      name: 'list',
      title: `A list of ${PAGE} products with their reviews: GET /products/?skip=…&limit=${PAGE}`,
      method: 'GET',
      route: '/products/',
      paths: Array.from(
        { length: Math.ceil(productIds.length / PAGE) },
        (_, page) => `/products/?skip=${page * PAGE}&limit=${PAGE}`,
      ),
      bodies: [],
    },
    {
      name: 'reviews',
      title: `The reviews of a product: GET /reviews/products/{id}?limit=${PAGE}`,
      method: 'GET',
      route: '/reviews/products/:id',
      paths: productIds.map(id => `/reviews/products/${id}?limit=${PAGE}`),
      bodies: [],
    },
    {
      name: 'create',
      title: 'Create a product, durably: POST /products/',
      method: 'POST',
      route: '/products/',
      paths: ['/products/'],
      bodies: productBodies(),
    },
    {
      name: 'update',
      title: 'Update a product, durably: PUT /products/{id}',
      method: 'PUT',
      route: '/products/:id',
      paths: productIds.map(id => `/products/${id}`),
      bodies: productBodies(),
    },
  ]
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
