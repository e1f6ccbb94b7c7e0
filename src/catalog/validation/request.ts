import { z } from '@hono/zod-openapi'
import { refuseEncodedBody } from '../../server/encoded-body.ts'
import { HttpError } from '../../server/errors.ts'
import { unreadableBody, type ValidationError, validationErrors } from './errors.ts'
import { spelledInteger } from './fields.ts'
import { readJson } from './json.ts'

export const BODY_MAX_BYTES = 1_048_576

/** For operations that take no body: what is sent is not read. */
export const noBody = z.undefined()

/** What an operation takes: a schema for each part of its request. */
export interface Inputs<Path extends z.ZodObject, Query extends z.ZodObject, Body extends z.ZodType> {
  readonly path: Path
  readonly query: Query
  readonly body: Body
}

/** The parts of a request that fulfil their schemas. */
export interface Input<Path extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> {
  readonly path: z.output<Path>
  readonly query: z.output<Query>
  readonly body: z.output<Body>
}

type Read<Value> = { readonly value: Value } | { readonly errors: readonly ValidationError[] }

/**
 * Reads path, query and body against their schemas, all three whatever is wrong with one, so that a client hears of all
 * errors at once. Throws an `HttpError` 413 for a body over the bound, 415 for an encoded one.
 */
export async function readRequest<Path extends z.ZodObject, Query extends z.ZodObject, Body extends z.ZodType>(
  inputs: Inputs<Path, Query, Body>,
  pathParameters: Readonly<Record<string, string>>,
  request: Request,
): Promise<Read<Input<Path, Query, Body>>> {
  const path = readFields(inputs.path, spelledIntegers(Object.entries(pathParameters)), 'path')
  const query = readFields(inputs.query, queryFields(request.url), 'query')
  const body = await readBody(inputs.body, request)
  if ('value' in path && 'value' in query && 'value' in body) {
    return { value: { path: path.value, query: query.value, body: body.value } }
  }
  return { errors: [path, query, body].flatMap(part => ('errors' in part ? part.errors : [])) }
}

function readFields<Schema extends z.ZodType>(
  schema: Schema,
  fields: Record<string, unknown> | undefined,
  source: 'path' | 'query' | 'body',
): Read<z.output<Schema>> {
  const read = schema.safeParse(fields)
  return read.success ? { value: read.data } : { errors: validationErrors(read.error.issues, source, fields ?? {}) }
}

/** Of a parameter that is given twice the last counts, as in FastAPI. */
function queryFields(url: string): Record<string, unknown> {
  const start = url.indexOf('?')
  return start === -1 ? {} : spelledIntegers(new URLSearchParams(url.slice(start + 1)))
}

/** All parameters of path and query are integers; text that spells none stays text. */
function spelledIntegers(parameters: Iterable<readonly [name: string, value: string]>): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const [name, value] of parameters) fields[name] = spelledInteger(value)
  return fields
}

async function readBody<Body extends z.ZodType>(schema: Body, request: Request): Promise<Read<z.output<Body>>> {
  const body = schema instanceof z.ZodUndefined ? { value: undefined } : await bodyFields(request)
  return 'value' in body ? readFields(schema, body.value, 'body') : body
}

async function bodyFields(request: Request): Promise<Read<Record<string, unknown>>> {
  const bytes = await bodyBytes(request)
  if (bytes.length === 0) return { errors: [unreadableBody.missing()] }
  if (!isJsonContentType(request.headers.get('Content-Type'))) return { errors: [unreadableBody.notAnObject()] }
  const json = readJson(bytes)
  if ('errorOffset' in json) return { errors: [unreadableBody.notJson(json.errorOffset)] }
  if (json.value === null) return { errors: [unreadableBody.missing()] }
  if (!isObject(json.value)) return { errors: [unreadableBody.notAnObject()] }
  return { value: json.value }
}

/** `application/json`, or a type with the suffix `+json` (RFC 6839). */
function isJsonContentType(contentType: string | null): boolean {
  return contentType !== null && /^application\/([^\s;/]+\+)?json[ \t]*(;|$)/i.test(contentType.trim())
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Reads the whole body. If it declares its length, a body that is too long is refused before it is read, otherwise as soon as
 * it gets too long. Not by `hono/body-limit`: that opens a stream on every body, even if the length is declared, and makes a
 * new request of one that declares none.
 */
async function bodyBytes(request: Request): Promise<Uint8Array> {
  refuseEncodedBody(request.headers)
  const declared = request.headers.get('Content-Length')
  if (declared !== null) {
    if (Number(declared) > BODY_MAX_BYTES) throw tooLarge()
    return request.bytes()
  }
  if (request.body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.body) {
    length += chunk.length
    if (length > BODY_MAX_BYTES) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(): HttpError {
  return new HttpError(413, `The body is larger than ${BODY_MAX_BYTES} bytes`)
}
