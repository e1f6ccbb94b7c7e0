import fc, { type Arbitrary } from 'fast-check'

/** A request of which parts are damaged. */
export interface Template {
  readonly method: string
  readonly target: string
  readonly fields?: readonly string[]
  readonly body?: string
}

/** Bytes for a connection of their own. */
export interface RawCase {
  readonly bytes: string
  /** After how many of the bytes to wait before the rest is sent. */
  readonly pauseAt: number
  /** More answers than these would mean that somebody's body was taken for a request. */
  readonly answersMax: number
  /** All of these requests must be answered, in this order. */
  readonly ids: readonly string[]
}

const END = '\r\n'
const HEAD_END = `${END}${END}`

/** Bytes that mean something in HTTP, or that should not be there. No digit: an id must not become another one's. */
const PIECES = [
  ...[
    '\0',
    '\x01',
    '\x0b',
    '\x0c',
    '\x1b',
    '\x7f',
    '\x80',
    '\xff',
    '\xc0\xaf',
    '\xed\xa0\x80',
    '\r',
    '\n',
    '\r\n',
    '\t',
    ' ',
  ],
  ...[
    '%',
    '%0',
    '%00',
    '%0a',
    '%0d%0a',
    '%2e%2e',
    '%2f',
    '%5c',
    '%c0%ae',
    '%ff',
    '%25',
    '%zz',
    '%u0041',
    '..',
    '/',
    '//',
    '\\',
  ],
  ...[
    '?',
    '#',
    ';',
    ':',
    ',',
    '"',
    '@',
    '*',
    '<',
    '{',
    '[',
    '|',
    '^',
    '`',
    '\u00e4',
    'x'.repeat(300),
    'x'.repeat(20_000),
  ],
]

const TARGETS = [
  ...[
    '/',
    '*',
    '',
    '//',
    '/..',
    '/../x',
    '/./',
    '/%',
    '/%00',
    '/a%2fb',
    '/\\',
    '?',
    '#',
    '/?',
    '/#',
    'x',
    'http://',
    'http:///',
  ],
  ...[
    'http://h',
    'http://h:99999/',
    'http://[::1/',
    'https://u:p@h/products/',
    'h:80',
    '/products/?limit=\xff',
    '/\xff',
    '/ä',
  ],
  ...[
    '/openapi.json',
    '/openapi.strict.json',
    '/docs',
    '/redoc',
    '/healthz',
    '/readyz',
    '/metrics',
    '/products',
    '/favicon.ico',
  ],
  ...[
    '/products/x%00',
    '/products/%2e%2e',
    '/products/%F0%9F%98%80',
    '/products/x?limit=x&limit=%00',
    `/${'a/'.repeat(500)}`,
  ],
]

const METHODS = [
  ...[
    'GET',
    'HEAD',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
    'OPTIONS',
    'TRACE',
    'CONNECT',
    'QUERY',
    'PROPFIND',
    'PURGE',
    'LINK',
  ],
  ...['get', 'FOO', 'G', '', 'GET\0', 'POST,GET', 'M-SEARCH', 'PRI', '\xff', 'X'.repeat(300), 'X'.repeat(20_000)],
]

const VERSIONS = [
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/0.9',
  'HTTP/1.2',
  'HTTP/2.0',
  'HTTP/2',
  'HTTP/11',
  'http/1.1',
  'HTTP/1.1 ',
  'HTTP/',
  '',
]

const FIELDS = [
  ...[
    'Host: h',
    'Host:',
    'Host: a:b',
    'Host: [::1',
    'Host: h\0',
    'host : h',
    'X',
    ': x',
    'X:',
    'X : a',
    ' X: a',
    'X: a\r b',
    'X: a\0b',
  ],
  ...[
    'X: \xff',
    'X\xff: a',
    'X: a\r\n b',
    '__proto__: x',
    'constructor: x',
    `X: ${'a'.repeat(15_000)}`,
    `X: ${'a'.repeat(17_000)}`,
  ],
  ...[
    'Connection: close',
    'Connection: keep-alive',
    'Connection: upgrade',
    'Connection: x, close',
    'Connection: TE, Host',
  ],
  ...[
    'Upgrade: h2c',
    'Upgrade: websocket',
    'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
    'Expect: 100-continue',
    'Expect: x',
  ],
  ...[
    'Accept-Encoding: \x01',
    'Accept: application/x-ndjson',
    'If-None-Match: *',
    'If-Match: *',
    'If-Modified-Since: x',
  ],
  ...[
    'Range: bytes=0-0',
    'X-Forwarded-For: 1',
    'X-HTTP-Method-Override: DELETE',
    'Content-Type: \0',
    'Content-Encoding: gzip',
  ],
  ...[
    'Origin: null',
    'Cookie: a=b',
    'Authorization: Basic \xff',
    'Last-Event-ID: x',
    'Sec-Fetch-Site: cross-site',
    'TE: trailers',
  ],
]

/** Different lengths of one body: the one, the other, and what is in between. */
const LENGTHS = [
  ...['Content-Length: 0', 'Content-Length: 2', 'Content-Length: 5', 'Content-Length: {{rest}}', 'Content-Length: +2'],
  ...[
    'Content-Length: -1',
    'Content-Length: 0x2',
    'Content-Length: 2, 2',
    'Content-Length: 2 2',
    'Content-Length:',
    'content-length: 007',
  ],
  ...[
    'Content-Length: 18446744073709551616',
    'Content-Length: 99999999999999999999999',
    'Content-Length: 1e1',
    'Content-Length\t: 2',
  ],
  ...[
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: Chunked',
    'transfer-encoding: identity',
    'Transfer-Encoding: xchunked',
  ],
  ...['Transfer-Encoding: \x0bchunked', 'Transfer-Encoding: chunked, identity', 'Transfer-Encoding: gzip, chunked'],
  ...['Transfer-Encoding : chunked', 'Transfer-Encoding: chunked\r\n identity'],
]

const CHUNKS = [
  ...[
    '0\r\n\r\n',
    '2\r\n{}\r\n0\r\n\r\n',
    '2\r\n{}\r\n',
    '2\r\n{}0\r\n\r\n',
    '02\r\n{}\r\n00\r\n\r\n',
    '2;a=b\r\n{}\r\n0\r\n\r\n',
  ],
  ...[
    '0x2\r\n{}\r\n0\r\n\r\n',
    '-1\r\n\r\n',
    'ffffffffffffffff\r\n',
    '10000000000000000\r\n{}',
    '2\n{}\n0\n\n',
    ' 2\r\n{}\r\n0\r\n\r\n',
    '{}',
  ],
]

const GREETINGS = [
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0',
  '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03',
  'SSH-2.0-x\r\n',
  '\r\n\r\n',
  'GET /healthz\r\n',
  'GET /healthz\r\n\r\n',
  '\0\0\0\0',
]

/** Requests that are not, or not quite, HTTP. */
export function rawCase(templates: readonly Template[]): Arbitrary<RawCase> {
  const template = fc.constantFrom(...templates)
  const bytes = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.tuple(template.map(asText), fc.array(cut, { minLength: 1, maxLength: 3 })).map(damaged),
    },
    {
      weight: 4,
      arbitrary: fc.tuple(template, fc.array(fc.constantFrom(...FIELDS), { maxLength: 4 })).map(withFields),
    },
    { weight: 3, arbitrary: startLine.map(line => `${line}${END}Host: h${HEAD_END}`) },
    {
      weight: 1,
      arbitrary: fc
        .nat({ max: 400 })
        .map(count => `GET /healthz HTTP/1.1${END}Host: h${END}${'X: a\r\n'.repeat(count)}${END}`),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.constantFrom(...GREETINGS), fc.constantFrom(...PIECES)).map(parts => parts.join('')),
    },
    {
      weight: 1,
      arbitrary: fc.uint8Array({ minLength: 1, maxLength: 200 }).map(some => Buffer.from(some).toString('latin1')),
    },
  )
  const one = fc.record({ bytes, pauseAt: fc.nat({ max: 400 }), ids: fc.constant([]) })
  return fc.oneof(
    { weight: 6, arbitrary: one.map(made => ({ ...made, answersMax: answersMax(made.bytes) })) },
    {
      weight: 2,
      arbitrary: fc.record({
        bytes: smuggling,
        pauseAt: fc.nat({ max: 200 }),
        ids: fc.constant([]),
        answersMax: fc.constant(2),
      }),
    },
    { weight: 1, arbitrary: pipeline },
  )
}

/** Each end of a head may be an answer, and the server may refuse what is left. */
function answersMax(bytes: string): number {
  return bytes.split('\n').length + 1
}

const startLine = fc
  .tuple(
    fc.constantFrom(...METHODS),
    fc.constantFrom(...TARGETS),
    fc.constantFrom('HTTP/1.1', ...VERSIONS),
    fc.constantFrom(' ', ' ', ' ', '\t', '  ', ''),
  )
  .map(([method, target, version, space]) => [method, target, version].join(space))

const cut = fc.record({ at: fc.nat(), length: fc.nat({ max: 3 }), piece: fc.constantFrom(...PIECES) })

function damaged([text, cuts]: [text: string, cuts: { at: number; length: number; piece: string }[]]): string {
  return cuts.reduce((left, { at, length, piece }) => {
    const start = at % (left.length + 1)
    return left.slice(0, start) + piece + left.slice(start + length)
  }, text)
}

export function asText({ method, target, fields = [], body }: Template): string {
  const length = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body, 'latin1')}`]
  return `${[`${method} ${target} HTTP/1.1`, 'Host: h', ...fields, ...length].join(END)}${HEAD_END}${body ?? ''}`
}

function withFields([template, fields]: [template: Template, fields: string[]]): string {
  return asText({ ...template, fields: [...(template.fields ?? []), ...fields] })
}

/** A request that a server must never answer: it is in a body, or behind a request whose end nobody can tell. */
export const SMUGGLED_ID = 'smuggled'
export const SMUGGLED = `GET /healthz HTTP/1.1${END}Host: h${END}X-Request-Id: ${SMUGGLED_ID}${HEAD_END}`

const smuggling = fc
  .tuple(
    fc.constantFrom('POST', 'PUT', 'GET', 'DELETE'),
    fc.constantFrom('HTTP/1.1', 'HTTP/1.0'),
    fc.uniqueArray(fc.constantFrom(...LENGTHS), { minLength: 2, maxLength: 3 }),
    fc.constantFrom(...CHUNKS),
  )
  .map(([method, version, lengths, chunks]) => {
    const rest = chunks + SMUGGLED
    const fields = lengths.map(length => length.replace('{{rest}}', String(rest.length)))
    return `${[`${method} /products/x ${version}`, 'Host: h', ...fields].join(END)}${HEAD_END}${rest}`
  })

/** Of requests that are answered at once: the runtime closes a connection on which one waits behind another's slow answer. */
const pipeline: Arbitrary<RawCase> = fc
  .record({
    targets: fc.array(fc.constantFrom('/healthz', '/nowhere', '/health', '/products/x'), {
      minLength: 2,
      maxLength: 12,
    }),
    pauseAt: fc.nat({ max: 900 }),
  })
  .map(({ targets, pauseAt }) => {
    const ids = targets.map((_, place) => `pipelined-${place}`)
    const all = targets.map((target, place) =>
      asText({ method: 'GET', target, fields: [`X-Request-Id: ${ids[place]}`] }),
    )
    return { bytes: all.join(''), pauseAt, ids, answersMax: ids.length }
  })
