import { detailResponse } from '../server/errors.ts'
import type { Resource } from './operation.ts'
import type { Representation } from './representation.ts'

const JSON_HEADERS = { 'Content-Type': 'application/json' }

export function jsonAnswer(body: unknown): Response {
  return jsonTextAnswer(JSON.stringify(body))
}

/** Answers what is JSON already. */
export function jsonTextAnswer(json: string, headers?: Readonly<Record<string, string>>): Response {
  return new Response(json, { headers: headers ? { ...JSON_HEADERS, ...headers } : JSON_HEADERS })
}

/** Answers one resource; `moreLink` makes the `Link` header to the rest of an embedded array that was cut. */
export function resourceAnswer(
  { json, cutAfterId }: Representation,
  moreLink?: (cutAfterId: number) => string,
): Response {
  return jsonTextAnswer(json, cutAfterId === null || !moreLink ? undefined : { Link: moreLink(cutAfterId) })
}

export function notFound(resource: Resource): Response {
  return detailResponse(404, `${resource} not found`)
}
