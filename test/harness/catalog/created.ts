import { z } from 'zod'
import type { Client } from '../client.ts'
import { sample } from '../samples.ts'
import { lines, NDJSON } from './keyed.ts'

/** Less than the largest body. */
const BODY_MAX_CHARACTERS = 2_000_000

const Created = z.object({ ids: z.array(z.int()) })

/** Creates items with as few requests as their size allows, and returns their ids in order. One request for each takes much longer. */
export async function createMany(api: Client, path: string, items: readonly object[]): Promise<number[]> {
  const ids: number[] = []
  for (const body of bodies(items)) {
    const answer = await api.send(path, { method: 'POST', body, headers: { 'Content-Type': NDJSON } })
    if (answer.status !== 200) throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    ids.push(...Created.parse(answer.body).ids)
  }
  return ids
}

/** A product with reviews, all by one user. */
export async function reviewedProduct(api: Client, reviews: number) {
  const productId = await api.create('/products/', sample.product)
  const userId = await api.create('/users/', sample.user)
  const reviewIds = await createMany(api, '/reviews/', Array(reviews).fill(sample.review(productId, userId)))
  return { productId, userId, reviewIds }
}

function* bodies(items: readonly object[]): Generator<string> {
  let body = ''
  for (const item of items) {
    const line = lines(item)
    if (body !== '' && body.length + line.length > BODY_MAX_CHARACTERS) {
      yield body
      body = ''
    }
    body += line
  }
  if (body !== '') yield body
}
