import type { Awaitable } from '../awaitable.ts'
import { BusyError } from '../busy-error.ts'
import { ByteBudget } from '../byte-budget.ts'
import { BODY_MAX_BYTES } from './validation/request.ts'

/** Smaller bodies are bounded by the number of requests that may wait. */
const LARGE_BODY_BYTES = 65_536

/** Limit on the large bodies of all requests in progress, which may be queued for a commit, a statement or a hash. */
const LARGE_BODIES_MAX_BYTES = 67_108_864

export const largeBodies = new ByteBudget(LARGE_BODIES_MAX_BYTES)

/** Answers a request whose body has been read. Rejects with a `BusyError` if it is large and the limit is reached. */
export function withinBodies(request: Request, answer: () => Awaitable<Response>): Awaitable<Response> {
  const bytes = Number(request.headers.get('Content-Length') ?? BODY_MAX_BYTES)
  return bytes <= LARGE_BODY_BYTES ? answer() : holding(bytes, answer)
}

async function holding(bytes: number, answer: () => Awaitable<Response>): Promise<Response> {
  if (largeBodies.isSpent) throw new BusyError('Too many large requests are under way')
  largeBodies.hold(bytes)
  try {
    return await answer()
  } finally {
    largeBodies.release(bytes)
  }
}
