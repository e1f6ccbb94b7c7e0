import { type Operation, type Parameter, problem, type Schema, wrongMembers } from './description.ts'
import type { Pool } from './pool.ts'
import { BODY_MAX_BYTES, JSON_TYPE, NDJSON_TYPE, type Planned } from './requests.ts'

/** A request as it is sent, and what the strict description says about it. */
export interface Filled {
  readonly planned: Planned
  readonly method: string
  readonly bytes: Buffer
  readonly body: Buffer | null
  readonly isBulk: boolean
  readonly statuses: readonly number[]
  /** Of a 422: the place of each error. */
  readonly places: ReadonlySet<string>
}

/** Fills in ids that exist, and derives from the strict description alone how the request has to be answered. */
export function fill(planned: Planned, { pool, etag }: { pool: Pool; etag: string }): Filled {
  const { operation, path, query, fields, body, isHead } = planned
  const values = path.map(text => pool.filled(text))
  const content = body && pool.filled(body.text)
  const bytes = body && content ? Buffer.from(content.text, body.encoding) : null
  let place = 0
  const target = operation.path.replaceAll(/\{\w+\}/g, () => values[place++]?.text ?? '')
  const search = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')
  const key = crypto.randomUUID()
  const sent = fields.map(([name, value]): [string, string] => [
    name,
    value.replace('{{etag}}', etag).replace('{{key}}', key),
  ])
  const method = isHead ? 'HEAD' : operation.method
  const head = [`${method} ${target}${search && '?'}${search} HTTP/1.1`, 'Host: shop.example']
  for (const [name, value] of sent) head.push(`${name}: ${value}`)
  if (body && bytes) {
    if (body.type !== null) head.push(`Content-Type: ${body.type}`)
    head.push(body.isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${bytes.length}`)
  }
  const framed = bytes && body?.isChunked ? chunked(bytes) : (bytes ?? Buffer.alloc(0))
  const isBulk =
    operation.requestBody?.content[NDJSON_TYPE] !== undefined && /^application\/x-ndjson/.test(body?.type ?? '')
  const exist = [...values, ...(content ? [content] : [])].every(filled => filled.exist)
  const request = { planned, values: values.map(({ text }) => decodeURIComponent(text)), fields: sent, bytes }
  const outcome = isBulk ? expectedOfLines(request, exist) : expected(request, exist)
  const all = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), framed])
  return { planned, method, bytes: all, body: bytes, isBulk, ...outcome }
}

interface Request {
  readonly planned: Planned
  /** Of the path's parameters. */
  readonly values: readonly string[]
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly bytes: Buffer | null
}

interface Outcome {
  readonly statuses: readonly number[]
  readonly places: ReadonlySet<string>
}

const NOWHERE = new Set<string>()
const WRONG_KEY = new Set(['header Idempotency-Key'])

function expected({ planned: { operation, query, body }, values, fields, bytes }: Request, exist: boolean): Outcome {
  const hasBody = operation.requestBody !== undefined
  // A wrong key is refused at once, and so is an encoded body: the one or the other comes first.
  if (wrongField(operation, fields, 'Idempotency-Key')) return { statuses: [415, 422], places: WRONG_KEY }
  if (hasBody && isEncoded(fields)) return { statuses: [415], places: NOWHERE }
  if (hasBody && (bytes?.length ?? 0) > BODY_MAX_BYTES) return { statuses: [413], places: NOWHERE }
  const places = new Set<string>()
  const parameters = operation.parameters ?? []
  for (const [index, { name, schema }] of parameters.filter(parameter => parameter.in === 'path').entries()) {
    if (!isParameter(schema, values[index] ?? '')) places.add(`path ${name}`)
  }
  for (const place of placesInQuery(parameters, query, places.size === 0)) places.add(place)
  if (hasBody) {
    const schema = operation.requestBody?.content[JSON_TYPE]?.schema ?? {}
    for (const place of placesIn(schema, bytes ?? Buffer.alloc(0), body?.type ?? null)) places.add(place)
  }
  if (places.size > 0) return { statuses: [422], places }
  if (wrongField(operation, fields, 'If-Match')) return { statuses: exist ? [400] : [400, 404], places }
  if (!exist) return { statuses: [404], places }
  const known = fields.find(([name]) => name === 'If-None-Match')?.[1]
  const expected = fields.find(([name]) => name === 'If-Match')?.[1]
  if (known !== undefined) return { statuses: [200, 304], places }
  return { statuses: expected === undefined || expected === '*' ? [200] : [200, 412], places }
}

type Pairs = Planned['query']

/** Parameters that say which part of a list is returned, not which list. */
const OF_PAGES = new Set(['skip', 'limit', 'after_id', 'fields'])

/** The limit of a page if a request has other parameters. */
const SELECTION_MAX = 1_000

/** The places at which a query is wrong. Combinations are checked only if each parameter is right, those of the path included. */
function placesInQuery(parameters: readonly Parameter[], query: Pairs, isPathRight: boolean): string[] {
  const described = parameters.filter(parameter => parameter.in === 'query')
  const last = (name: string) =>
    described.some(parameter => parameter.name === name) ? query.findLast(pair => pair[0] === name)?.[1] : undefined
  const places = described.flatMap(({ name, schema }) => {
    const values = query.filter(pair => pair[0] === name).map(([, value]) => value)
    if (schema.type !== 'array')
      return values.slice(-1).some(value => !isParameter(schema, value)) ? [`query ${name}`] : []
    const items = values.join(',').split(',')
    if (values.length === 0) return []
    if (items.length > (schema.maxItems ?? 0)) return [`query ${name}`]
    return items.flatMap((item, at) => (isParameter(schema.items ?? {}, item) ? [] : [`query ${name} ${at}`]))
  })
  const isSelection = described.some(({ name }) => !OF_PAGES.has(name) && query.some(pair => pair[0] === name))
  const limit = last('limit')
  if (isSelection && limit !== undefined && /^\+?[0-9]+$/.test(limit) && Number(limit) > SELECTION_MAX) {
    places.push('query limit')
  }
  const bands = query.filter(([name]) => name === 'price_bands').flatMap(([, value]) => value.split(',').map(Number))
  const hasGoodBands =
    described.some(({ name }) => name === 'price_bands') && !places.some(place => place.startsWith('query price_bands'))
  if (hasGoodBands && bands.some((bound, at) => bound <= (bands[at - 1] ?? 0))) places.push('query price_bands')
  if (places.length > 0 || !isPathRight) return places
  // None of the cursors here is one of a list.
  if (last('cursor') !== undefined) return ['query cursor']
  const sort = last('sort') ?? 'relevance'
  const isByRelevance = sort === 'relevance' && /[\p{L}\p{N}\p{M}]/u.test(last('q') ?? '')
  const isById = sort === 'id' || (sort === 'relevance' && !isByRelevance)
  return last('after_id') !== undefined && !isById ? ['query after_id'] : []
}

/** Whether a header field breaks the rule of its parameter. */
function wrongField({ parameters = [] }: Operation, fields: Request['fields'], name: string): boolean {
  const value = fields.find(field => field[0] === name)?.[1]
  const described = parameters.find(parameter => parameter.in === 'header' && parameter.name === name)
  return value !== undefined && described !== undefined && problem(described.schema, value) !== null
}

function isEncoded(fields: Request['fields']): boolean {
  return fields.some(([name, value]) => name === 'Content-Encoding' && value !== 'identity')
}

/** How numbers are written in paths and queries. */
const SPELLINGS: Readonly<Record<string, RegExp>> = {
  integer: /^[+-]?[0-9]+$/,
  number: /^[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/,
}

/** Whether a parameter's text is what its schema describes. */
function isParameter(schema: Schema, text: string): boolean {
  const spelling = typeof schema.type === 'string' ? SPELLINGS[schema.type] : undefined
  if (!spelling) return problem(schema, text) === null
  return spelling.test(text) && Number.isFinite(Number(text)) && problem(schema, Number(text)) === null
}

/** The places at which a body is wrong: the body, a member, or, if it is not JSON, a character. */
function placesIn(schema: Schema, bytes: Buffer, type: string | null): string[] {
  if (bytes.length === 0 || !/^application\/([\w.-]+\+)?json *(;|$)/i.test(type ?? '')) return ['body']
  const value = parsed(bytes)
  if (value === NOT_JSON) return ['body #']
  return [...wrongMembers(schema, value)].map(name => (name === '' ? 'body' : `body ${name}`))
}

function expectedOfLines({ planned: { operation }, fields, bytes }: Request, exist: boolean): Outcome {
  if (isEncoded(fields)) return { statuses: [415], places: NOWHERE }
  if (wrongField(operation, fields, 'Idempotency-Key')) return { statuses: [422], places: WRONG_KEY }
  const schema = operation.requestBody?.content[NDJSON_TYPE]?.schema.items ?? {}
  const places = linesOf(bytes ?? Buffer.alloc(0)).flatMap((line, index) => {
    const value = parsed(line)
    if (value === NOT_JSON) return line.toString().trim() === '' ? [] : [`body ${index + 1} #`]
    return [...wrongMembers(schema, value)].map(name =>
      name === '' ? `body ${index + 1}` : `body ${index + 1} ${name}`,
    )
  })
  if (places.length > 0) return { statuses: [422], places: new Set(places) }
  // Whether the rows exist that lines refer to is known last, as is whether an id is taken.
  if (!exist) return { statuses: [422], places: NOWHERE }
  return { statuses: bytes?.includes('"id"') ? [200, 422] : [200], places: NOWHERE }
}

export function linesOf(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = []
  let start = 0
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
    lines.push(bytes.subarray(start, end))
    start = end + 1
  }
  return [...lines, bytes.subarray(start)]
}

const NOT_JSON = Symbol('not JSON')

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return NOT_JSON
  }
}

/** In two chunks, the first of one byte. */
function chunked(bytes: Buffer): Buffer {
  const pieces = [bytes.subarray(0, 1), bytes.subarray(1)].filter(piece => piece.length > 0)
  const parts = pieces.flatMap(piece => [Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')])
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}
