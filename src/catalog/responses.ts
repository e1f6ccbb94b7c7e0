import { type Awaitable, whenThere } from '../awaitable.ts'
import { detailResponse } from '../server/errors.ts'
import type { RequestScope } from '../server/requests.ts'
import type { Representation } from './representation.ts'
import type { ResourceName } from './storage/resource.ts'
import type { Absent } from './storage/store.ts'
import { streamedResponse } from './streamed.ts'

/** A longer response is streamed, so that the memory it holds for a slow reader is counted. */
export const WHOLE_MAX_CHARACTERS = 262_144

const JSON_HEADERS = { 'Content-Type': 'application/json' }

/** A response whose body is JSON already. */
export function jsonTextResponse(json: string, headers?: Readonly<Record<string, string>>): Response {
  return new Response(json, { headers: headers ? { ...JSON_HEADERS, ...headers } : JSON_HEADERS })
}

/**
 * One resource, or the 404 that names what is absent. If its array was cut, the `Link` header leads to the rest (RFC 8288):
 * `restOf` makes the path from the id of the last item shown.
 */
export function resourceResponse(
  scope: RequestScope,
  name: ResourceName,
  found: Awaitable<Representation | Absent | null>,
  restOf?: (cutAfterId: number) => string,
): Awaitable<Response> {
  return whenThere(found, representation => {
    if (!representation) return notFound(name)
    if ('absent' in representation) return notFound(representation.absent)
    const { json, cutAfterId, rest, release } = representation
    const headers = cutAfterId === null || !restOf ? undefined : { Link: `<${restOf(cutAfterId)}>; rel="more"` }
    if (!rest && json.length <= WHOLE_MAX_CHARACTERS) return jsonTextResponse(json, headers)
    return streamedResponse(textsOf(json, rest), scope, { headers, ended: release })
  })
}

async function* textsOf(json: string, rest?: () => AsyncIterable<string>): AsyncGenerator<string> {
  yield json
  if (rest) yield* rest()
}

export function notFound(name: ResourceName): Response {
  return detailResponse(404, `${name} not found`)
}
