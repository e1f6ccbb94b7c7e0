import { expect } from 'bun:test'
import { z } from 'zod'
import type { Answer, Client } from '../client.ts'
import { sample } from '../samples.ts'

export const Items = z.array(z.object({ id: z.int() }))

/** Creates `count` items at once and returns their ids in ascending order. */
export async function createAll(
  api: Client,
  path: string,
  count: number,
  bodyOf: (index: number) => object,
): Promise<number[]> {
  return ascending(await Promise.all(Array.from({ length: count }, (_, index) => api.create(path, bodyOf(index)))))
}

export function createCategories(api: Client, count: number): Promise<number[]> {
  return createAll(api, '/categories/', count, () => sample.category)
}

export function ascending(ids: readonly number[]): number[] {
  return [...ids].sort((one, other) => one - other)
}

export function idsOf({ status, body }: Answer): number[] {
  expect(status).toBe(200)
  return Items.parse(body).map(({ id }) => id)
}

export function embeddedIds(resource: unknown, member: 'products' | 'reviews'): number[] {
  return Items.parse(z.record(z.string(), z.unknown()).parse(resource)[member]).map(({ id }) => id)
}

/** The address of the next page, or null on the last one. */
export function nextOf({ headers }: Answer): string | null {
  return /^<([^>]+)>; rel="next"$/.exec(headers.get('Link') ?? '')?.[1] ?? null
}

/** Asks again if the index is behind: on a busy machine, clients may be faster than it for longer than a search waits. */
export async function getAtLast(api: Client, path: string): Promise<Answer> {
  let answer = await api.get(path)
  while (answer.status === 503) answer = await api.get(path)
  return answer
}

/** The ids on this page and all pages after it. */
export async function follow(api: Client, path: string): Promise<number[]> {
  const ids: number[] = []
  let next: string | null = path
  while (next !== null) {
    const answer: Answer = await api.get(next)
    ids.push(...idsOf(answer))
    next = nextOf(answer)
  }
  return ids
}
