import { detailResponse } from '../server/errors.ts'
import type { Resource } from './operation.ts'

const JSON_HEADERS = { 'Content-Type': 'application/json' }

export function jsonAnswer(body: unknown, headers?: Readonly<Record<string, string>>): Response {
  return new Response(JSON.stringify(body), { headers: headers ? { ...JSON_HEADERS, ...headers } : JSON_HEADERS })
}

export function notFound(resource: Resource): Response {
  return detailResponse(404, `${resource} not found`)
}
