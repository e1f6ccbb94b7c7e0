import { z } from '@hono/zod-openapi'
import { clientKey } from '../../server/rate-limit.ts'
import type { RequestBodies, RequestBody } from '../../server/request-bodies.ts'
import type { RequestScope } from '../../server/requests.ts'
import { IDEMPOTENCY_KEY } from '../http/idempotency/header.ts'
import type { Idempotency, KeyedRequest } from '../http/idempotency/keyed-request.ts'
import type { LinesContract } from '../http/operation.ts'
import { invalid } from '../http/responses.ts'
import { id } from '../http/validation/fields.ts'
import { NDJSON_TYPE } from '../http/validation/ndjson-type.ts'
import type { PasswordHasher } from '../users/password.ts'
import type { Loader } from './load.ts'
import { ndjsonLines } from './ndjson.ts'
import { hashingPasswords } from './password-hashes.ts'
import type { BulkResource } from './resources.ts'
import { BAD_LINES_MAX, type BadLine, type CheckedRows, rowsOf, storeAllRows, WrongLinesError } from './rows.ts'

/** Time limit, because hashing many passwords or waiting for another import takes long. */
const TIMEOUT_SECONDS = 120

/** The answer: the ids in the order of the lines. */
const Creation = z.object({ created: z.int(), ids: z.array(id) }).openapi('Creation')

type Creation = z.output<typeof Creation>

/** The services that the creation of many resources uses. */
export interface Means {
  readonly loader: Loader
  readonly hashPassword: PasswordHasher
  readonly idempotency: Idempotency
  readonly bodies: RequestBodies
}

/** A `POST` of NDJSON to a collection: it creates a resource of each line, all or none. */
export function creationOf(resource: BulkResource, means: Means): LinesContract {
  const handle = (scope: RequestScope) =>
    means.bodies.answering(scope.request, body => createAll(body, resource, means, scope), clientKey(scope))
  return { line: resource.line, response: Creation, handle }
}

async function createAll(
  body: RequestBody,
  resource: BulkResource,
  means: Means,
  scope: RequestScope,
): Promise<Response> {
  const { request } = scope
  const key = request.headers.get(IDEMPOTENCY_KEY)
  const keyed =
    key === null
      ? null
      : await means.idempotency.begin(key, scope, { mediaType: NDJSON_TYPE, respond: kept => respond(kept.answer) })
  if (keyed instanceof Response) return keyed
  scope.allowIdle(TIMEOUT_SECONDS)
  const hashPasswords = hashingPasswords(password => means.hashPassword(password, request.signal))
  const answer = async () => {
    const read: CheckedRows[] = []
    let wrong = 0
    // No more are reported, and the errors of millions of short lines would take gigabytes. The client sends the rest all the same.
    const isEnough = () => wrong >= BAD_LINES_MAX
    for await (const lines of ndjsonLines(chunksOf(body, keyed), isEnough)) {
      const some = await rowsOf(resource, lines, hashPasswords)
      wrong += some.bad.length
      read.push(some)
    }
    try {
      return respond(await stored(means.loader, resource, read, keyed))
    } catch (error) {
      if (error instanceof WrongLinesError) return refused(error.lines)
      throw error
    }
  }
  if (!keyed) return answer()
  const kept = await keyed.kept()
  if (!kept) return keyed.first(answer)
  for await (const _ of chunksOf(body, keyed)) {
    // Each chunk is part of the fingerprint.
  }
  return keyed.replay(kept)
}

async function* chunksOf(body: RequestBody, keyed: KeyedRequest | null): AsyncGenerator<Uint8Array> {
  for await (const chunk of body.chunks()) {
    keyed?.update(chunk)
    yield chunk
  }
}

/** Resolves to the answer. */
async function stored(
  loader: Loader,
  resource: BulkResource,
  read: readonly CheckedRows[],
  keyed: KeyedRequest | null,
): Promise<string> {
  const wrong = read.flatMap(rows => rows.bad)
  if (wrong.length > 0 && read.every(({ rows }) => rows.length === 0)) throw new WrongLinesError(wrong)
  return loader(async (load, keep) => {
    const ids: number[] = []
    for await (const some of storeAllRows(load, resource, read)) for (const id of some) ids.push(id)
    const creation: Creation = { created: ids.length, ids }
    const answer = JSON.stringify(creation)
    if (keyed) await keep(keyed.claim(), answer)
    return answer
  })
}

function respond(answer: string): Response {
  return new Response(answer, { headers: { 'Content-Type': 'application/json' } })
}

/** The errors of a single resource, with the number of the line before the field. */
function refused(bad: readonly BadLine[]): Response {
  return invalid(
    bad
      .slice(0, BAD_LINES_MAX)
      .flatMap(({ number, errors }) =>
        errors.map(({ loc: [source = 'body', ...place], ...error }) => ({ loc: [source, number, ...place], ...error })),
      ),
  )
}
