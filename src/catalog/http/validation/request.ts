import type { z } from '@hono/zod-openapi'
import type { Awaitable } from '../../../awaitable.ts'
import { isJsonObject } from '../../../json-object.ts'
import { remembering } from '../../../limits/remembering.ts'
import { queryOf } from '../../../server/request-target.ts'
import { currentTimeline, timed } from '../../../tracing/timeline.ts'
import { errorAt, fault, inOrder, type RequestPart, type ValidationError, validationErrors } from './errors.ts'
import { spelledInteger, spelledNumber } from './fields.ts'
import { readJson } from './json.ts'
import { isList, numbersOf } from './numbers.ts'

/** Limit on the body of a request for one resource. */
export const BODY_MAX_BYTES = 1_048_576

/** Most clients send the same few queries. The errors of wrong ones may be long. */
const REMEMBERED = { max: 512, charactersMax: 128, keeps: (read: ReadValue<unknown>) => 'value' in read }

/** The schemas of the parts of an operation's request. */
export interface Inputs<Path extends z.ZodObject, Query extends z.ZodObject, Body extends z.ZodType> {
  readonly path: Path
  /** Made when it is needed: with those of all lists, a start would take a fifth longer. */
  readonly query: () => Query
  readonly queryRule?: QueryRule
  readonly body: Body
}

/** The parameters of a query by their names. */
export type Parameters = Readonly<Record<string, unknown>>

/**
 * Finds what is wrong with the parameters that were sent, even if some of them are wrong by themselves. Not a check of the schema:
 * Zod skips those if a list is too long.
 */
export type QueryRule = (sent: Parameters) => readonly ValidationError[]

/** The parts of a valid request. */
export interface RequestInput<Path extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> {
  readonly path: z.output<Path>
  readonly query: z.output<Query>
  readonly body: z.output<Body>
}

export type ReadValue<Value> = { readonly value: Value } | { readonly errors: readonly ValidationError[] }

/**
 * Makes the reader of an operation's requests, which compiles their schemas. It validates all parts of a request, even if one is
 * wrong, so that the client gets all errors at once. Without `readBody` it returns the result at once. If it is strict, each
 * parameter that the operation does not have is an error.
 */
export function requestReader<Path extends z.ZodObject, Query extends z.ZodObject, Body extends z.ZodType>(
  inputs: Inputs<Path, Query, Body>,
) {
  const noBody = readFields(inputs.body, undefined, 'body')
  const readPath = pathReader(inputs.path)
  const querySchema = inputs.query()
  const readQuery = queryReader(querySchema, inputs.queryRule)
  return (
    request: Request,
    pathParameters: Readonly<Record<string, string>>,
    readBody: (() => Promise<Uint8Array>) | null,
    isStrict = false,
  ): Awaitable<ReadValue<RequestInput<Path, Query, Body>>> => {
    const path = readPath(pathParameters)
    const query = readQuery(request.url)
    if (readBody === null) {
      const read = together(path, query, noBody)
      return isStrict ? strictly(read, request.url, querySchema) : read
    }
    return timed('reading the body', readBody).then(bytes => {
      const started = performance.now()
      const read = together(path, query, readBodyBytes(inputs.body, bytes, request.headers.get('Content-Type')))
      currentTimeline()?.add('validation', started)
      return read
    })
  }
}

function together<Path, Query, Body>(path: ReadValue<Path>, query: ReadValue<Query>, body: ReadValue<Body>) {
  if ('value' in path && 'value' in query && 'value' in body) {
    return { value: { path: path.value, query: query.value, body: body.value } }
  }
  return { errors: [path, query, body].flatMap(errorsOf) }
}

/** With an error for each parameter of the URL that the operation does not have. */
function strictly<Value>(read: ReadValue<Value>, url: string, { shape }: z.ZodObject): ReadValue<Value> {
  const sent = new Set(new URLSearchParams(queryOf(url)).keys())
  const unknown = [...sent]
    .filter(name => !Object.hasOwn(shape, name))
    .map(name => errorAt(['query', name], fault.unknown))
  return unknown.length === 0 ? read : { errors: [...errorsOf(read), ...unknown] }
}

function errorsOf(read: ReadValue<unknown>): readonly ValidationError[] {
  return 'errors' in read ? read.errors : []
}

/** Makes the function that validates the parameters of a path. An operation without any does not look for them. */
function pathReader<Schema extends z.ZodObject>(schema: Schema) {
  const none = Object.keys(schema.shape).length === 0 ? readFields(schema, {}, 'path') : null
  const parsers = parsersOf(schema)
  return (sent: Readonly<Record<string, string>>) => none ?? readFields(schema, pathFields(sent, parsers), 'path')
}

/** Makes the function that validates the query of a URL. */
export function queryReader<Schema extends z.ZodObject>(schema: Schema, rule: QueryRule = () => []) {
  const parsers = parsersOf(schema)
  const names = Object.keys(schema.shape)
  // No parameter is required.
  const none = readFields(schema, {}, 'query')
  const read = remembering((query: string) => {
    const sent = queryFields(query, parsers)
    const alone = readFields(schema, sent, 'query')
    const further = rule(sent)
    if (further.length === 0) return alone
    return { errors: inOrder([...errorsOf(alone), ...further], names) }
  }, REMEMBERED)
  return (url: string) => {
    const query = queryOf(url)
    return query === '' ? none : read(query)
  }
}

/** For each parameter. */
type Parsers = ReadonlyMap<string, Parser>

/**
 * Parses the text of a parameter; `before` is what the same one gave before. Text that is not of the parameter's type stays text,
 * and the schema rejects it.
 */
type Parser = (text: string, before?: unknown) => unknown

function parsersOf(schema: z.ZodObject): Parsers {
  return new Map(Object.entries<z.core.$ZodType>(schema.shape).map(([name, field]) => [name, parserOf(field)]))
}

/** If a parameter is given twice, the last one counts, as in FastAPI; those of a list are joined. */
function parserOf(field: z.core.$ZodType): Parser {
  const numbers = numbersOf(field)
  const parse = numbers === 'integers' ? spelledInteger : numbers === 'all' ? spelledNumber : String
  if (!isList(field)) return text => parse(text)
  return (text, before) => {
    // Not a copy for each of them: there may be thousands.
    const items: unknown[] = Array.isArray(before) ? before : []
    for (const item of text.split(',')) items.push(parse(item))
    return items
  }
}

function readFields<Schema extends z.ZodType>(
  schema: Schema,
  fields: Readonly<Record<string, unknown>> | undefined,
  source: RequestPart,
): ReadValue<z.output<Schema>> {
  const read = schema.safeParse(fields)
  return read.success
    ? { value: read.data }
    : { errors: validationErrors(read.error.issues, source, fields ?? {}, schema) }
}

function pathFields(parameters: Readonly<Record<string, string>>, parsers: Parsers): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const name in parameters) {
    const value = parameters[name] ?? ''
    fields[name] = parsers.get(name)?.(value.includes('%') ? decodeURIComponent(value) : value)
  }
  return fields
}

/** Ignores parameters that the operation does not have. */
function queryFields(query: string, parsers: Parsers): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const [name, value] of new URLSearchParams(query)) {
    const parse = parsers.get(name)
    if (parse) fields[name] = parse(value, fields[name])
  }
  return fields
}

function readBodyBytes<Schema extends z.ZodType>(
  schema: Schema,
  bytes: Uint8Array,
  contentType: string | null,
): ReadValue<z.output<Schema>> {
  if (bytes.length === 0) return { errors: [errorAt(['body'], fault.missing)] }
  if (!isJsonContentType(contentType)) return { errors: [errorAt(['body'], fault.notAnObject)] }
  const json = readJson(bytes)
  if ('errorOffset' in json) return { errors: [errorAt(['body', json.errorOffset], fault.notJson)] }
  return readBodyValue(schema, json.value)
}

/** Validates a value from JSON. */
export function readBodyValue<Schema extends z.ZodType>(schema: Schema, value: unknown): ReadValue<z.output<Schema>> {
  if (value === null) return { errors: [errorAt(['body'], fault.missing)] }
  return isJsonObject(value) ? readFields(schema, value, 'body') : { errors: [errorAt(['body'], fault.notAnObject)] }
}

/** `application/json`, or a type with the suffix `+json` (RFC 6839). */
function isJsonContentType(contentType: string | null): boolean {
  if (contentType === 'application/json') return true
  return contentType !== null && /^application\/([^\s;/]+\+)?json[ \t]*(;|$)/i.test(contentType)
}
