import type { Client } from '../client.ts'
import { sample } from '../samples.ts'

/** One of each resource. */
export async function shelf(api: Client) {
  const categoryId = await api.create('/categories/', sample.category)
  const productId = await api.create(`/products/${categoryId}/products`, sample.product)
  const userId = await api.create('/users/', sample.user)
  const reviewId = await api.create('/reviews/', sample.review(productId, userId))
  return { categoryId, productId, userId, reviewId }
}

/** Number of reads after which a resource is in the cache. */
const READS = 3

/** Reads the paths until their resources are cached. */
export async function readOften(api: Client, paths: readonly string[]): Promise<void> {
  for (let time = 0; time < READS; time += 1) await Promise.all(paths.map(path => api.get(path)))
}

/** Everything the service stores. */
export async function everything(api: Client): Promise<unknown[]> {
  const paths = ['/categories/', '/products/', '/reviews/', '/users/']
  const answers = await Promise.all(paths.map(path => api.get(`${path}?limit=1000000`)))
  return answers.map(({ body }) => body)
}

export async function listOf(api: Client, path: string): Promise<{ readonly id: number }[]> {
  const { status, body } = await api.get(path)
  if (status === 404) return []
  if (!Array.isArray(body)) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
  return body
}

export function idOf(body: unknown): number {
  return memberOf(body, 'id')
}

export function priceOf(body: unknown): number {
  return memberOf(body, 'price')
}

function memberOf(body: unknown, name: string): number {
  const value: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined
  return typeof value === 'number' ? value : Number.NaN
}
