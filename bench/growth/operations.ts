import type { Rows } from '../catalog/seed.ts'

interface GrowthRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: object
}

interface Operation {
  readonly name: string
  /** A request for rows that no other one has asked for. `random` gives a whole number from 1 to its parameter. */
  readonly request: (sizes: Rows, random: (max: number) => number) => GrowthRequest
}

const category = { name: 'Kitchen', description: 'Things for cooking' }
const product = { name: 'Ladle', description: 'A ladle of steel for soups and sauces', price: 12.5 }
const review = { rating: 4, comment: 'Well made and handy. It came after two days.' }
const user = { name: 'Ada', email: 'ada@mail.example', avatar: 'https://images.example/ada', password: 'correct horse' }

const get = (path: string): GrowthRequest => ({ method: 'GET', path })

/** The 25 operations, and deep pages. */
export const OPERATIONS: readonly Operation[] = [
  { name: 'a category', request: (of, random) => get(`/categories/${random(of.categories)}`) },
  { name: 'a product', request: (of, random) => get(`/products/${random(of.products)}`) },
  { name: 'a review', request: (of, random) => get(`/reviews/${random(of.reviews)}`) },
  { name: 'a user', request: (of, random) => get(`/users/${random(of.users)}`) },
  { name: 'categories', request: (_, random) => get(`/categories/?after_id=${random(80)}&limit=20`) },
  { name: 'products', request: (_, random) => get(`/products/?after_id=${random(8_000)}&limit=20`) },
  { name: 'reviews', request: (_, random) => get(`/reviews/?after_id=${random(80_000)}&limit=20`) },
  { name: 'users', request: (_, random) => get(`/users/?after_id=${random(900)}&limit=20`) },
  {
    name: 'products, up to 90 % skipped',
    request: (of, random) => get(`/products/?skip=${of.products * 0.9 - random(1_000)}&limit=100`),
  },
  {
    name: 'reviews, up to 90 % skipped',
    request: (of, random) => get(`/reviews/?skip=${of.reviews * 0.9 - random(10_000)}&limit=100`),
  },
  { name: 'products of a category', request: (of, random) => get(`/products/${random(of.categories)}/products`) },
  { name: 'reviews of a product', request: (of, random) => get(`/reviews/products/${random(of.products)}`) },
  { name: 'reviews of a user', request: (of, random) => get(`/reviews/users/${random(of.users)}`) },
  {
    name: 'reviews of a product and a user',
    request: (of, random) => get(`/reviews/products/${random(of.products)}/users/${random(of.users)}`),
  },
  { name: 'create a category', request: () => ({ method: 'POST', path: '/categories/', body: category }) },
  { name: 'create a product', request: () => ({ method: 'POST', path: '/products/', body: product }) },
  {
    name: 'create a product in a category',
    request: (of, random) => ({ method: 'POST', path: `/products/${random(of.categories)}/products`, body: product }),
  },
  {
    name: 'create a review',
    request: (of, random) => ({
      method: 'POST',
      path: '/reviews/',
      body: { ...review, product_id: random(of.products), user_id: random(of.users) },
    }),
  },
  { name: 'create a user', request: () => ({ method: 'POST', path: '/users/', body: user }) },
  {
    name: 'update a category',
    request: (of, random) => ({ method: 'PUT', path: `/categories/${random(of.categories)}`, body: category }),
  },
  {
    name: 'update a product',
    request: (of, random) => ({ method: 'PUT', path: `/products/${random(of.products)}`, body: product }),
  },
  {
    name: 'update a review',
    request: (of, random) => ({
      method: 'PATCH',
      path: `/reviews/${random(of.reviews)}`,
      body: { ...review, product_id: random(of.products), user_id: random(of.users) },
    }),
  },
  {
    name: 'update a user',
    request: (of, random) => ({ method: 'PATCH', path: `/users/${random(of.users)}`, body: user }),
  },
  { name: 'delete a review', request: (of, random) => ({ method: 'DELETE', path: `/reviews/${random(of.reviews)}` }) },
  {
    name: 'delete a product',
    request: (of, random) => ({ method: 'DELETE', path: `/products/${random(of.products)}` }),
  },
  { name: 'delete a user', request: (of, random) => ({ method: 'DELETE', path: `/users/${random(of.users)}` }) },
  {
    name: 'delete a category',
    request: (of, random) => ({ method: 'DELETE', path: `/categories/${random(of.categories)}` }),
  },
]

const STATUSES: readonly number[] = [200, 404]

/** Sends a request and reads the answer to its end. A row that was deleted before may be missing. */
export async function send(address: string, { method, path, body }: GrowthRequest): Promise<void> {
  const response = await fetch(address + path, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
  })
  await response.arrayBuffer()
  if (!STATUSES.includes(response.status)) throw new Error(`${method} ${path} was answered with ${response.status}`)
}
