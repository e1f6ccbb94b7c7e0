import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { RawResponse } from './connection.ts'
import { type Operation, problem } from './description.ts'
import { type Filled, linesOf } from './expected.ts'
import { JSON_TYPE, NDJSON_TYPE } from './requests.ts'

/** The descriptions of one operation. */
export interface Described {
  readonly strict: Operation
  /** `null` if the specification does not have the operation. */
  readonly specified: Operation | null
}

/** A response that breaks its description. */
class WrongAnswerError extends Error {
  override name = 'WrongAnswerError'
}

/** Checks everything that the descriptions promise of a response. Returns its body if it is JSON. */
export function checkAnswer(request: Filled, response: RawResponse, { strict, specified }: Described): unknown {
  const { status } = response
  if (!request.statuses.includes(status)) {
    const places = request.places.size > 0 ? ` at ${[...request.places].join(', ')}` : ''
    fail(`status ${status} in place of ${request.statuses.join(' or ')}${places}`, response)
  }
  const value = checkDescribed(response, strict, request.method === 'HEAD')
  checkRequestId(request, response)
  if (value === undefined) return undefined
  // The specification knows neither lines nor chosen members.
  const isFurther = request.isBulk || request.planned.query.some(([name]) => name === 'fields')
  const inSpecified = isFurther ? undefined : specified?.responses[status]?.content?.[JSON_TYPE]?.schema
  const unspecified = inSpecified && problem(inSpecified, value)
  if (unspecified) fail(`the body breaks its specified schema: ${unspecified}`, response)
  if (status === 422) checkPlaces(request, value, response)
  if (status === 200) checkEcho(request, value, response)
  return value
}

/** Checks a response against the description of an operation. Returns its body if it has one. */
export function checkDescribed(response: RawResponse, { responses }: Operation, isHead = false): unknown {
  const { status } = response
  const described = responses[status]
  if (!described) return fail(`status ${status} is not described`, response)
  checkFields(response, described.headers ?? {})
  const { content } = described
  if (!content || isHead) {
    if (response.body.length > 0) fail('a body where none belongs', response)
    return undefined
  }
  const type = field(response, 'content-type') ?? ''
  const schema = content[type]?.schema
  if (!schema) return fail(`content type ${type} is not described`, response)
  const text = decoded(response)
  const value: unknown = type === NDJSON_TYPE ? lines(text).map(line => JSON.parse(line)) : JSON.parse(text)
  const wrong = problem(schema, value)
  if (wrong !== null) fail(`the body breaks its strict schema: ${wrong}`, response)
  return value
}

function fail(reason: string, { status, fields, body }: RawResponse): never {
  const shown = body.subarray(0, 2_000).toString()
  throw new WrongAnswerError(`${reason}\nanswer: ${status} ${JSON.stringify(Object.fromEntries(fields))}\n${shown}`)
}

export function field(response: RawResponse, name: string): string | undefined {
  return response.fields.find(each => each[0] === name)?.[1]
}

/** Header fields that HTTP itself describes. */
const OF_HTTP = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'transfer-encoding',
])

function checkFields(response: RawResponse, described: NonNullable<Operation['responses'][string]['headers']>): void {
  const names = response.fields.map(([name]) => name)
  if (new Set(names).size < names.length) fail('a header field is there twice', response)
  const known = new Set(Object.keys(described).map(name => name.toLowerCase()))
  for (const name of names) if (!OF_HTTP.has(name) && !known.has(name)) fail(`${name} is not described`, response)
  for (const [name, { required, schema }] of Object.entries(described)) {
    const value = field(response, name.toLowerCase())
    if (value === undefined) {
      if (required) fail(`no ${name}`, response)
    } else {
      const wrong = problem(schema, value)
      if (wrong !== null) fail(`${name} ${wrong}`, response)
    }
  }
}

function checkRequestId(request: Filled, response: RawResponse): void {
  const sent = request.planned.fields.find(([name]) => name === 'X-Request-Id')?.[1]
  const isSane = sent !== undefined && /^[A-Za-z0-9._:=+/@-]{1,128}$/.test(sent)
  if (isSane && field(response, 'x-request-id') !== sent) fail('another request id', response)
}

function decoded(response: RawResponse): string {
  const { body } = response
  const bytes = () => {
    switch (field(response, 'content-encoding')) {
      case 'gzip':
        return gunzipSync(body)
      case 'br':
        return brotliDecompressSync(body)
      case 'zstd':
        return zstdDecompressSync(body)
      default:
        return body
    }
  }
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes())
}

function lines(text: string): string[] {
  return text.split('\n').slice(0, -1)
}

/** Errors that only the stored rows can tell. */
const BY_STORED_ROWS = /^body \d+ (id|category_id|product_id|user_id)$/

function checkPlaces({ places }: Filled, value: unknown, response: RawResponse): void {
  const { detail }: { detail: readonly { readonly loc: readonly (string | number)[] }[] } = JSON.parse(
    JSON.stringify(value),
  )
  const found = detail.map(({ loc }) => loc.join(' '))
  const isPlace = (place: string, expected: string) =>
    expected.endsWith('#') ? new RegExp(`^${expected.slice(0, -1)}\\d+$`).test(place) : place === expected
  const others = found.filter(place => ![...places].some(expected => isPlace(place, expected)))
  const isExpected =
    found.length - others.length === places.size &&
    [...places].every(expected => found.some(place => isPlace(place, expected))) &&
    others.every(place => BY_STORED_ROWS.test(place))
  if (!isExpected) fail(`errors at ${found.join(', ')} in place of ${[...places].join(', ')}`, response)
}

/** Fails unless the service has stored exactly the values that were sent. */
function checkEcho({ body, isBulk, planned }: Filled, value: unknown, response: RawResponse): void {
  if (!body || !planned.operation.requestBody) return
  if (isBulk) {
    const count = linesOf(body).filter(line => line.toString().trim() !== '').length
    if (Object(value).created !== count || Object(value).ids.length !== count) fail(`not ${count} created`, response)
    return
  }
  const sent: Record<string, unknown> = JSON.parse(new TextDecoder().decode(body))
  const shown: Record<string, unknown> = Object(value)
  const names = Object.keys(planned.operation.requestBody.content[JSON_TYPE]?.schema.properties ?? {})
  for (const name of names) {
    if (name === 'password' || !Object.hasOwn(sent, name)) continue
    if (!Object.is(shown[name], sent[name]) && !(shown[name] === 0 && sent[name] === 0))
      fail(`another ${name}`, response)
  }
}
