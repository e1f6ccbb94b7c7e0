import type { Described } from './answers.ts'
import { readDescription } from './description.ts'
import { requestsTo } from './requests.ts'
import { Session } from './session.ts'
import { type Finding, inWorkers } from './workers.ts'

export interface FuzzOptions {
  readonly address: string
  /** The same seed gives each worker the same requests, but for the ids of what exists. */
  readonly seed: number
  /** Of all workers together. */
  readonly requests: number
  readonly workers: number
}

export interface Outcome {
  readonly finding: Finding | null
  /** How many answers had each status. */
  readonly statuses: ReadonlyMap<number, number>
}

/** Sends requests that the service's own descriptions allow or forbid, and checks every answer against both. */
export async function fuzzOperations({ address, seed, requests, workers }: FuzzOptions): Promise<Outcome> {
  const [strict, specified] = await Promise.all(
    ['/openapi.strict.json', '/openapi.json'].map(path => readDescription(address, path)),
  )
  const described = new Map<string, Described>()
  // A stream does not end.
  const answered = (strict ?? []).filter(({ responses }) => !responses[200]?.content?.['text/event-stream'])
  for (const operation of answered) {
    const same = specified?.find(({ operationId }) => operationId === operation.operationId)
    described.set(operation.operationId, { strict: operation, specified: same ?? null })
  }
  const statuses = new Map<number, number>()
  const arbitrary = requestsTo(answered)
  const finding = await inWorkers(
    workers,
    { seed, requests, arbitrary },
    () => new Session(address, described, statuses),
  )
  return { finding, statuses }
}
