import { detailResponse } from '../server/errors.ts'
import type { CatalogContext, Resource } from './operation.ts'
import type { Representation } from './representation.ts'
import { streamedAnswer } from './streamed.ts'

/** A longer answer is streamed, so that what waits for a slow reader is counted. */
export const WHOLE_MAX_CHARACTERS = 262_144

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
  { json, cutAfterId, rest, release }: Representation,
  context: CatalogContext,
  moreLink?: (cutAfterId: number) => string,
): Response {
  const headers = cutAfterId === null || !moreLink ? undefined : { Link: moreLink(cutAfterId) }
  if (!rest && json.length <= WHOLE_MAX_CHARACTERS) return jsonTextAnswer(json, headers)
  return streamedAnswer(textsOf(json, rest), context, { headers, ended: release })
}

async function* textsOf(json: string, rest?: () => AsyncIterable<string>): AsyncGenerator<string> {
  yield json
  if (rest) yield* rest()
}

export function notFound(resource: Resource): Response {
  return detailResponse(404, `${resource} not found`)
}
