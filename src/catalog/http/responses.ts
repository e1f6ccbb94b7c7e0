import { type Awaitable, whenThere } from '../../awaitable.ts'
import { detailResponse } from '../../server/errors.ts'
import type { RequestScope } from '../../server/requests.ts'
import type { Cursor } from '../storage/query.ts'
import type { ResourceName } from '../storage/resource.ts'
import type { Changed, Cut, Done, Missing, Representation } from '../storage/store.ts'
import { COMPRESSED_MIN_CHARACTERS, type Coding, compress, preferredCoding } from './compression.ts'
import { derivedFrom } from './derived.ts'
import { entityTag, matches, versionOf } from './entity-tag.ts'
import { type StreamedResponseOptions, streamedResponse, TOTAL_COUNT } from './streamed.ts'
import type { ValidationError } from './validation/errors.ts'

/** Longer responses are streamed, so that their memory counts while a slow client reads. */
export const WHOLE_MAX_CHARACTERS = 262_144

/** A response body in JSON. */
interface JsonBody extends Pick<StreamedResponseOptions, 'isList' | 'total'> {
  readonly json: string
  /** The `Link` header. */
  readonly link: string | undefined
  /** The part of the link that the tag covers; by default, all of it. The link of a list also repeats the URL of the request. */
  readonly leadsTo?: string | Cursor | null | undefined
  /** The page or representation that it was made from. */
  readonly source: object
  /** Of a single resource. */
  readonly revision?: number
}

/**
 * A read gets an `ETag`, or 304 without a body if the client already has the response (RFC 9110, 13.1.2). Long bodies are
 * compressed if the client accepts it. A created or updated resource has the `ETag` that a read would get.
 */
export function jsonResponse(
  { request }: RequestScope,
  { json, link, leadsTo = link, source, revision, isList = false, total = null }: JsonBody,
): Response {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' }
  if (link !== undefined) headers.Link = link
  const { method } = request
  if (method === 'DELETE') return new Response(json, { headers })
  if (method !== 'GET' && method !== 'HEAD') {
    headers.ETag = entityTag(versionOf(json, leadsTo, revision))
    return new Response(json, { headers })
  }
  const derived = derivedFrom(source)
  derived.version ??= versionOf(json, leadsTo, revision)
  let coding: Coding | 'identity' = 'identity'
  if (isList) headers.Vary = 'Accept'
  if (json.length >= COMPRESSED_MIN_CHARACTERS) {
    headers.Vary = isList ? 'Accept, Accept-Encoding' : 'Accept-Encoding'
    coding = preferredCoding(request.headers.get('Accept-Encoding'))
  }
  const version = total === null ? derived.version : `${derived.version}-${total}`
  if (total !== null) headers[TOTAL_COUNT] = String(total)
  headers.ETag = entityTag(version, coding)
  const known = request.headers.get('If-None-Match')
  if (known !== null && matches(known, headers.ETag)) return new Response(null, { status: 304, headers })
  if (coding === 'identity') return new Response(json, { headers })
  headers['Content-Encoding'] = coding
  const compressed = derived.compressed?.[coding] ?? compress(json, coding)
  derived.compressed = { ...derived.compressed, [coding]: compressed }
  return new Response(compressed, { headers })
}

/** Makes the path to the items that were cut from a resource's array, for the `Link` header (RFC 8288). */
type RestOf = (cut: Cut) => string

/** The resource that was written; or a 404 or 412 with the name of the one that is missing or has changed. */
export function writtenResponse(
  scope: RequestScope,
  written: Awaitable<Done | Missing | Changed>,
  restOf?: RestOf,
): Awaitable<Response> {
  return whenThere(written, written => {
    if ('missing' in written) return notFound(written.missing)
    if ('changed' in written) return detailResponse(412, `${written.changed} has changed`)
    return representationResponse(scope, written.done, restOf)
  })
}

export function representationResponse(scope: RequestScope, representation: Representation, restOf?: RestOf): Response {
  const { json, cut, revision } = representation
  const link = cut && restOf ? `<${restOf(cut)}>; rel="more"` : undefined
  if (json.length <= WHOLE_MAX_CHARACTERS) return jsonResponse(scope, { json, link, source: representation, revision })
  const version = scope.request.method === 'DELETE' ? undefined : versionOf(json, link, revision)
  return streamedResponse(alone(json), scope, { link, version })
}

async function* alone(json: string): AsyncGenerator<string> {
  yield json
}

export function invalid(detail: readonly ValidationError[]): Response {
  return detailResponse(422, detail)
}

export function notFound(name: ResourceName): Response {
  return detailResponse(404, `${name} not found`)
}
