import { readFileSync } from 'node:fs'
import type { Service } from '../harness/service.ts'
import { fuzzOperations } from './operations.ts'
import type { Template } from './raw-cases.ts'
import { fuzzSockets } from './sockets.ts'

/** The share of requests that are made of bytes, not of the description. */
const SOCKETS_SHARE = 0.3

/** Most of the time, a connection only waits for what does not come. */
const SOCKETS_PER_WORKER = 4

/** Memory that a service may take more than before, whatever it has been sent: its caches, and what the allocator keeps. */
const GROWTH_MAX_KIB = 262_144

const FAILURES_SHOWN = 5

const JSON_FIELD = ['Content-Type: application/json']

/** None of them changes anything, unless damage makes a valid body of it. */
const TEMPLATES: readonly Template[] = [
  { method: 'GET', target: '/products/?skip=x&limit=y' },
  { method: 'GET', target: '/categories/?limit=', fields: ['Accept: application/json', 'If-None-Match: "a"'] },
  { method: 'GET', target: '/reviews/products/x/users/y' },
  { method: 'HEAD', target: '/users/' },
  { method: 'GET', target: '/openapi.strict.json' },
  { method: 'OPTIONS', target: '/products/' },
  { method: 'POST', target: '/categories/', fields: JSON_FIELD, body: '{"name":"ab","description":"\\u00e4"}' },
  { method: 'POST', target: '/products/', fields: ['Content-Type: application/x-ndjson'], body: '{"name":"ab"}\n{}\n' },
  { method: 'PUT', target: '/products/x', fields: JSON_FIELD, body: '{"name":"abc","price":"x"}' },
  { method: 'PATCH', target: '/users/x', fields: JSON_FIELD, body: '[]' },
  { method: 'DELETE', target: '/reviews/x' },
]

export interface CatalogCampaign {
  readonly seed: number
  readonly requests: number
  readonly workers: number
}

/** The results of a campaign. */
export interface Report {
  /** The first thing that was wrong; `null` if all was well. */
  readonly finding: string | null
  /** How many answers to described requests had each status. */
  readonly statuses: ReadonlyMap<number, number>
  /** The service's memory before and after. */
  readonly residentKib: readonly [before: number, after: number]
}

/** Fuzzes the catalog: its described operations, and its socket. */
export async function fuzzCatalog(service: Service, { seed, requests, workers }: CatalogCampaign): Promise<Report> {
  const { address, processId } = service
  const inBytes = Math.floor(requests * SOCKETS_SHARE)
  // Before the first request, nothing has been compiled and no cache has been filled.
  await fuzzOperations({ address, seed, workers, requests: Math.min(requests / 20, 2_000) })
  const before = residentKib(processId)
  const { finding, statuses } = await fuzzOperations({ address, seed, workers, requests: requests - inBytes })
  const found =
    finding ??
    (await fuzzSockets({
      address,
      seed,
      workers: workers * SOCKETS_PER_WORKER,
      requests: inBytes,
      templates: TEMPLATES,
    }))
  const after = residentKib(processId)
  const report = { statuses, residentKib: [before, after] } as const
  const failures = service
    .errors()
    .split('\n')
    .filter(line => line.includes('"a request failed'))
  if (found || failures.length > 0) {
    const logged = ['the log has these failures:', ...failures.slice(0, FAILURES_SHOWN)]
    return { ...report, finding: [found?.report, ...(failures.length > 0 ? logged : [])].join('\n') }
  }
  const isBounded = after - before <= GROWTH_MAX_KIB
  return { ...report, finding: isBounded ? null : `memory has grown from ${before} to ${after} KiB` }
}

/** On Linux; elsewhere 0. */
function residentKib(processId: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${processId}/status`, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}
