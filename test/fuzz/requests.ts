import fc, { type Arbitrary } from 'fast-check'
import { anyCharacter } from '../harness/any-character.ts'
import { anyJson, goodJson, json, type Known } from './bodies.ts'
import type { Operation, Parameter } from './description.ts'
import { NEW_ID, REFERENCES, reference } from './pool.ts'

export const JSON_TYPE = 'application/json'
export const NDJSON_TYPE = 'application/x-ndjson'

export const BODY_MAX_BYTES = 1_048_576

/** A request to an operation. Texts have placeholders for ids of existing resources. */
export interface Planned {
  readonly operation: Operation
  readonly isHead: boolean
  /** The values of the path's parameters, in their order, percent-encoded. */
  readonly path: readonly string[]
  readonly query: readonly (readonly [name: string, value: string])[]
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly body: Body | null
}

interface Body {
  readonly type: string | null
  readonly text: string
  /** As Latin-1, most texts with other letters are not UTF-8. */
  readonly encoding: 'utf8' | 'latin1'
  readonly isChunked: boolean
}

const NOT_INTEGERS = [
  ...[
    'x',
    '1.0',
    '1e3',
    '0x1',
    '1_000',
    ' 1',
    '1 ',
    '--1',
    '+',
    '-',
    '١',
    '１',
    '1\n',
    '1,0',
    'NaN',
    'null',
    '😀',
    '\\',
  ],
  ...['%', '1/2', '1?2', '1#2', 'a\0b', '../1', "1'", '1;1', 'true', '[1]', '{1}', '\u202e1', '0b1', '1n', '%31'],
]

const integerText = fc.oneof(
  fc.nat({ max: 12 }).map(String),
  fc.constantFrom(
    '+3',
    '007',
    '-0',
    '9007199254740993',
    '9'.repeat(40),
    '18446744073709551616',
    '2147483648',
    '-1',
    '-99',
  ),
  fc.maxSafeInteger().map(String),
)

const REQUEST_IDS = ['a', 'x'.repeat(128), 'x'.repeat(129), 'a b', 'ä', '"', '<>', 'A-z_0:=+/@.', '{"a":1}', '%0a']

const ENTITY_TAGS = ['*', '"x"', 'W/"x"', '"x", "y"', 'x', '"', ',,,', '"1"-gzip', '{{etag}}', 'W/{{etag}}, "x"']

/** The first ones are not lists of tags. */
const EXPECTED_TAGS = [
  'x',
  '"',
  '',
  '"a" "b"',
  '* , "a"',
  '*',
  '"0.x"',
  'W/"0.x"',
  '"a", "b"',
  ', "a",',
  '{{etag}}',
  '{{etag}}, "x"',
]

/** `{{key}}` is another one in each request. */
const IDEMPOTENCY_KEYS = [
  '{{key}}',
  '{{key}}',
  '{{key}}',
  '"{{key}}"',
  '',
  '"',
  '""',
  'a,b',
  'a b',
  'x'.repeat(256),
  '"\\x"',
  '\xe4',
]

const CODINGS = [
  'gzip',
  'br',
  'zstd',
  'identity',
  '*',
  'gzip;q=0',
  'gzip, deflate, br, zstd',
  'br;q=1.0, gzip;q=0.5',
  ';;,',
]

/** How often an operation is called: creates more often than deletes, so that there is something to find. */
const WEIGHTS: Readonly<Record<string, number>> = { GET: 6, POST: 12, PUT: 6, PATCH: 6, DELETE: 3 }

/** Requests to all operations of a description. */
export function requestsTo(operations: readonly Operation[]): Arbitrary<Planned> {
  return fc.oneof(
    ...operations.map(operation => ({ weight: WEIGHTS[operation.method] ?? 1, arbitrary: requestTo(operation) })),
  )
}

function requestTo(operation: Operation): Arbitrary<Planned> {
  const parameters = operation.parameters ?? []
  const inPath = parameters.filter(parameter => parameter.in === 'path')
  const inQuery = parameters.filter(parameter => parameter.in === 'query')
  return fc.record({
    operation: fc.constant(operation),
    isHead: operation.method === 'GET' ? often(false, 9, true) : fc.constant(false),
    path: fc.tuple(...inPath.map(pathText)),
    query: queryPairs(inQuery),
    fields: fields(operation),
    body: operation.requestBody ? bodyOf(operation) : often(null, 20, STRAY_BODY),
  })
}

function pathText({ name }: Parameter): Arbitrary<string> {
  const kind = REFERENCES[name] ?? 'absent'
  return fc.oneof(
    { weight: 14, arbitrary: fc.nat({ max: 99 }).map(choice => reference(kind, choice)) },
    { weight: 2, arbitrary: fc.nat({ max: 99 }).map(choice => reference('absent', choice)) },
    { weight: 1, arbitrary: fc.constantFrom(...NOT_INTEGERS).map(text => encodeURIComponent(text)) },
    { weight: 1, arbitrary: fc.string({ unit: anyCharacter, minLength: 1 }).filter(isSegment).map(encodeURIComponent) },
  )
}

/** Neither dots alone, which mean another path, nor digits, which may be the id of what another worker has created. */
function isSegment(text: string): boolean {
  return text.isWellFormed() && text !== '.' && text !== '..' && !/^[+-]?[0-9]+$/.test(text)
}

function queryPairs(parameters: readonly Parameter[]): Arbitrary<[string, string][]> {
  const names = [...parameters.map(({ name }) => name), 'x', 'Skip', '']
  const words = parameters.flatMap(({ schema }) => (schema.enum ?? schema.items?.enum)?.map(String) ?? [])
  const value = fc.oneof(
    { weight: 10, arbitrary: integerText.filter(text => !text.startsWith('-')) },
    { weight: 1, arbitrary: integerText },
    { weight: 1, arbitrary: fc.constantFrom('', ...NOT_INTEGERS) },
    ...(words.length > 0 ? [{ weight: 5, arbitrary: fc.constantFrom(...words) }] : []),
    { weight: 2, arbitrary: fc.constantFrom('1,2', '3,,x', '2.5', '+1e2', '-0', '1e999', 'a b-c', "O'Neil ") },
  )
  return fc.array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 3, size: 'max' })
}

function fields({ method, requestBody }: Operation): Arbitrary<[string, string][]> {
  const some: Arbitrary<[string, string][]>[] = [rarely('X-Request-Id', fc.constantFrom(...REQUEST_IDS))]
  if (method === 'GET') {
    some.push(
      rarely('If-None-Match', fc.constantFrom(...ENTITY_TAGS)),
      rarely('Accept-Encoding', fc.constantFrom(...CODINGS)),
      rarely('Accept', fc.constantFrom(NDJSON_TYPE, '*/*', JSON_TYPE, 'text/html', `text/html, ${NDJSON_TYPE};q=0.1`)),
    )
  }
  if (method === 'POST') some.push(rarely('Idempotency-Key', fc.constantFrom(...IDEMPOTENCY_KEYS)))
  else if (method !== 'GET') some.push(rarely('If-Match', fc.constantFrom(...EXPECTED_TAGS)))
  if (requestBody) some.push(rarely('Content-Encoding', fc.constantFrom('identity', 'identity', 'gzip', 'br', 'x')))
  return fc.tuple(...some).map(lists => lists.flat())
}

function rarely(name: string, value: Arbitrary<string>): Arbitrary<[string, string][]> {
  return fc.oneof(
    { weight: 5, arbitrary: fc.constant<[string, string][]>([]) },
    { weight: 1, arbitrary: value.map((text): [string, string][] => [[name, text]]) },
  )
}

/** For an operation that takes none. It is ignored. */
const STRAY_BODY: Body = { type: JSON_TYPE, text: '{"name":"x"}', encoding: 'utf8', isChunked: false }

const JSON_TYPES = [
  'application/json; charset=utf-8',
  'Application/JSON',
  'application/merge-patch+json',
  'application/json ;a=b',
]

const OTHER_TYPES = [
  null,
  'text/plain',
  'application/x-www-form-urlencoded',
  '',
  'json',
  'application/jsonx',
  'multipart/form-data',
]

const NOT_JSON = [
  '',
  ' ',
  '{',
  '{"name":',
  "{'a':1}",
  '{"a":1}{"b":2}',
  '[1,]',
  '\ufeff{}',
  '{"a":1,}',
  'nul',
  '"\n"',
  '\0',
  '01',
]

/** Deeper than any stack. */
const DEEP = `{"x":${'['.repeat(50_000)}${']'.repeat(50_000)}}`

function bodyOf({ path, method, requestBody }: Operation): Arbitrary<Body> {
  const isNewUser = path === '/users/'
  const schema = requestBody?.content[JSON_TYPE]?.schema ?? {}
  const line = requestBody?.content[NDJSON_TYPE]?.schema.items
  const one = json(schema, method === 'POST' ? references : masked)
  const type = fc.oneof(
    { weight: 20, arbitrary: fc.constant(JSON_TYPE) },
    { weight: 3, arbitrary: fc.constantFrom(...JSON_TYPES) },
    { weight: 1, arbitrary: fc.constantFrom(...OTHER_TYPES) },
  )
  const text = fc.oneof(
    { weight: 900, arbitrary: one },
    { weight: 60, arbitrary: fc.oneof(fc.constantFrom(...NOT_JSON), anyJson) },
    { weight: 30, arbitrary: fc.tuple(one, fc.nat(), fc.constantFrom(...NOT_JSON)).map(damaged) },
    { weight: 1, arbitrary: fc.constant(DEEP) },
    { weight: 1, arbitrary: one.map(json => json.trimEnd().padEnd(BODY_MAX_BYTES + 1)) },
  )
  const encoding = often<'utf8' | 'latin1'>('utf8', 30, 'latin1')
  const isChunked = often(false, 7, true)
  const single = fc.record({ type, text, encoding, isChunked })
  if (!line) return single
  const lineText = fc.oneof(
    { weight: 12, arbitrary: goodJson(line, ofLines) },
    { weight: 1, arbitrary: json(line, ofLines) },
    { weight: 1, arbitrary: fc.constantFrom('', ' ', '{', 'null', '[]', '\r') },
  )
  const linesText = fc
    .array(lineText, { maxLength: 6, size: 'max' })
    .map(all => all.map(text => text.replaceAll(/[\n\t]/g, ' ')).join('\n'))
  const many = fc.record({
    type: fc.constantFrom(NDJSON_TYPE, `${NDJSON_TYPE}; a=b`),
    text: linesText,
    encoding,
    isChunked,
  })
  return fc.oneof({ weight: isNewUser ? 1 : 6, arbitrary: single }, { weight: isNewUser ? 12 : 1, arbitrary: many })
}

/** References mostly to what exists. */
const references: Known = Object.fromEntries(
  Object.entries(REFERENCES).map(([name, kind]) => [
    name,
    fc.oneof(
      { weight: 12, arbitrary: fc.nat({ max: 99 }).map(choice => reference(kind, choice)) },
      { weight: 1, arbitrary: fc.nat({ max: 99 }).map(choice => reference('absent', choice)) },
    ),
  ]),
)

/** For updates and lines. To hash a password takes as long as a hundred requests; the mask stands for one that need not be. */
const masked: Known = { ...references, password: often('"**********"', 19, '"secret"') }

/** An id is mostly one that a line may have. */
const ofLines: Known = { ...masked, id: often(NEW_ID, 29, '1') }

function damaged([text, at, piece]: [text: string, at: number, piece: string]): string {
  const start = at % (text.length + 1)
  return text.slice(0, start) + piece + text.slice(start + 1)
}

function often<Value>(usual: Value, times: number, other: Value): Arbitrary<Value> {
  return fc.oneof({ weight: times, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constant(other) })
}
