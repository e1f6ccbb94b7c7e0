import { detailResponse } from '../server/errors.ts'
import type { Resource } from './operation.ts'
import type { Representation } from './representation.ts'

const JSON_HEADERS = { 'Content-Type': 'application/json' }

export function jsonAnswer(body: unknown, headers?: Readonly<Record<string, string>>): Response {
  return new Response(JSON.stringify(body), { headers: headers ? { ...JSON_HEADERS, ...headers } : JSON_HEADERS })
}

/** Answers one resource; `moreLink` makes the `Link` header to the rest of an embedded array that was cut. */
export function resourceAnswer(
  { json, cutAfterId }: Representation,
  moreLink?: (cutAfterId: number) => string,
): Response {
  if (cutAfterId === null || !moreLink) return new Response(json, { headers: JSON_HEADERS })
  return new Response(json, { headers: { ...JSON_HEADERS, Link: moreLink(cutAfterId) } })
}

export function notFound(resource: Resource): Response {
  return detailResponse(404, `${resource} not found`)
}
