import { z } from '@hono/zod-openapi'
import { BusyError } from '../../busy-error.ts'
import { ByteBudget } from '../../byte-budget.ts'
import { refuseEncodedBody } from '../../server/encoded-body.ts'
import { HttpError } from '../../server/errors.ts'
import type { RequestScope } from '../../server/requests.ts'
import { IDEMPOTENCY_KEY } from '../idempotency/header.ts'
import type { Idempotency, KeyedRequest } from '../idempotency/keyed-request.ts'
import type { Loader } from '../loading/loader.ts'
import type { Catalog } from '../operation.ts'
import { invalid } from '../responses.ts'
import type { PasswordHasher } from '../users/password.ts'
import { id } from '../validation/fields.ts'
import { isNdjson, NDJSON_TYPE } from '../validation/ndjson-type.ts'
import { ndjsonLines } from './ndjson.ts'
import { BULK_RESOURCES, type BulkResource } from './resources.ts'
import { type BadLine, type Rows, rowsOf, storeRows } from './rows.ts'

const BODY_MAX_BYTES = 8_388_608

/** Limit on the bodies of all such requests in progress. */
const BODIES_MAX_BYTES = 33_554_432

/** Limit on the wrong lines that a response lists. */
const BAD_LINES_MAX = 1_000

/** Time limit, because hashing many passwords or waiting for another import takes long. */
const TIMEOUT_SECONDS = 120

export const bulkBodies = new ByteBudget(BODIES_MAX_BYTES)

/** The answer: the ids in the order of the lines. */
export const Creation = z.object({ created: z.int(), ids: z.array(id()) }).openapi('Creation')

type Creation = z.output<typeof Creation>

/** Lets a `POST` of NDJSON to a collection create one resource per line, all or none. */
export function addBulkCreation(
  { operations, idempotency }: Catalog,
  loader: Loader,
  hashPassword: PasswordHasher,
): void {
  const means = { loader, hashPassword, idempotency }
  for (const resource of BULK_RESOURCES) {
    const route = `/${resource.stored.table}/`
    const handlers = operations.get(route)
    const createOne = handlers?.POST
    if (!createOne) throw new Error(`no operation creates ${resource.stored.table}`)
    operations.set(route, {
      ...handlers,
      POST: (request, scope) =>
        isNdjson(request.headers.get('Content-Type')) ? createAll(resource, means, scope) : createOne(request, scope),
    })
  }
}

interface Means {
  readonly loader: Loader
  readonly hashPassword: PasswordHasher
  readonly idempotency: Idempotency
}

async function createAll(resource: BulkResource, means: Means, scope: RequestScope): Promise<Response> {
  const { request, server } = scope
  refuseEncodedBody(request.headers)
  if (Number(request.headers.get('Content-Length') ?? 0) > BODY_MAX_BYTES) throw tooLarge()
  const key = request.headers.get(IDEMPOTENCY_KEY)
  const keyed =
    key === null
      ? null
      : await means.idempotency.begin(key, scope, { mediaType: NDJSON_TYPE, respond: kept => respond(kept.answer) })
  if (keyed instanceof Response) return keyed
  if (bulkBodies.isSpent) throw new BusyError('Too many large requests are under way')
  server.timeout(request, TIMEOUT_SECONDS)
  const body = new CountedBody(request, keyed)
  const answer = () => createLines(resource, means, body, keyed)
  try {
    if (!keyed) return await answer()
    const kept = await keyed.kept()
    if (!kept) return await keyed.first(answer)
    await body.readAll()
    return keyed.replay(kept)
  } catch (error) {
    if (error instanceof WrongLinesError) return refused(error.lines)
    throw error
  } finally {
    body.release()
  }
}

async function createLines(
  resource: BulkResource,
  { loader, hashPassword }: Means,
  body: CountedBody,
  keyed: KeyedRequest | null,
): Promise<Response> {
  const read: Rows[] = []
  for await (const lines of ndjsonLines(body.chunks())) {
    read.push(await rowsOf(resource, lines, password => hashPassword(password, body.request.signal)))
  }
  if (read.every(({ rows }) => rows.length === 0)) {
    const bad = read.flatMap(rows => rows.bad)
    if (bad.length > 0) return refused(bad)
  }
  return respond(await stored(loader, resource, read, keyed))
}

/** Counts a body towards the budget as it arrives. */
class CountedBody {
  readonly request: Request
  readonly #keyed: KeyedRequest | null
  #bytes = 0

  constructor(request: Request, keyed: KeyedRequest | null) {
    this.request = request
    this.#keyed = keyed
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    for await (const chunk of this.request.body ?? []) {
      this.#bytes += chunk.length
      bulkBodies.hold(chunk.length)
      if (this.#bytes > BODY_MAX_BYTES) throw tooLarge()
      this.#keyed?.update(chunk)
      yield chunk
    }
  }

  async readAll(): Promise<void> {
    for await (const _ of this.chunks()) {
      // Each chunk is part of the fingerprint.
    }
  }

  release(): void {
    bulkBodies.release(this.#bytes)
  }
}

/** Rolls the transaction back. */
class WrongLinesError extends Error {
  override name = 'WrongLinesError'
  readonly lines: readonly BadLine[]

  constructor(lines: readonly BadLine[]) {
    super('lines are wrong')
    this.lines = lines
  }
}

/** Resolves to the answer. */
function stored(
  loader: Loader,
  resource: BulkResource,
  read: readonly Rows[],
  keyed: KeyedRequest | null,
): Promise<string> {
  return loader.load(async load => {
    const ids: number[] = []
    const bad: BadLine[] = []
    for (const rows of read) {
      const some = await storeRows(load, resource, rows)
      for (const id of some.ids) ids.push(id)
      bad.push(...some.bad)
      if (bad.length >= BAD_LINES_MAX) break
    }
    if (bad.length > 0) throw new WrongLinesError(bad)
    await load.complete()
    const creation: Creation = { created: ids.length, ids }
    const answer = JSON.stringify(creation)
    if (keyed) await load.keep(keyed.claim, answer)
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

function tooLarge(): HttpError {
  return new HttpError(413, `The body is larger than ${BODY_MAX_BYTES} bytes`)
}
