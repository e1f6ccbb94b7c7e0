import { IF_MATCH_PATTERN } from '../http/entity-tag.ts'
import { IDEMPOTENCY_KEY, KEY_PATTERN } from '../http/idempotency/header.ts'

/** The headers, header parameters and errors that all operations of `/openapi.strict.json` share. */

const TEXT = { type: 'string' }

export const PARAMETERS = {
  IfNoneMatch: header(
    'If-None-Match',
    'The `ETag`s that the client has, or `*`. If one of them is current, the answer is 304.',
  ),
  LastEventId: header('Last-Event-ID', 'The id of the last event that the client has. It wins over `since`.'),
  Prefer: header(
    'Prefer',
    'With `handling=strict`, each parameter of the query that the operation does not have is an error (RFC 7240).',
  ),
  IfMatch: header(
    'If-Match',
    'The `ETag`s that the resource may have, or `*`. If it has none of them, the answer is 412. Only the part up to the dot counts, which changes with the fields of the resource itself. Weak tags never match.',
    { pattern: IF_MATCH_PATTERN },
  ),
  IdempotencyKey: header(
    IDEMPOTENCY_KEY,
    'A key of 1 to 255 characters. A client sends the same key when it repeats this request, and a new key with every other request. For 24 hours, a repeated request gets the first answer, and nothing is created again.',
    { pattern: KEY_PATTERN },
  ),
  ContentEncoding: header('Content-Encoding', 'The body must be neither compressed nor encoded otherwise.', {
    enum: ['identity'],
  }),
  RequestId: header(
    'X-Request-Id',
    'The server sends it back if it is 1 to 128 ASCII letters, digits or `._:=+/@-`, and otherwise makes up another.',
  ),
}

/** The values of `Vary`, apart from `Origin`. */
const VARYING = ['Accept', 'Accept-Encoding', 'Accept, Accept-Encoding']

export const RESPONSE_HEADERS = {
  RequestId: {
    description: 'The id of the request in the log',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9._:=+/@-]{1,128}$' },
  },
  NoSniff: { description: 'The body has the type that it says', required: true, schema: { ...TEXT, const: 'nosniff' } },
  CacheControl: {
    description: '`no-store` for all about users; other answers may be kept if they are revalidated before each use',
    required: true,
    schema: { ...TEXT, enum: ['no-cache', 'no-store'] },
  },
  ETag: {
    description: 'Changes when anything in the answer changes. An answer that is sent while it is read has none.',
    schema: { type: 'string', pattern: String.raw`^"([0-9a-z]{1,10}\.)?[0-9a-z-]+"$` },
  },
  IdempotencyReplayed: { description: 'Present if this answer was given before', schema: { ...TEXT, const: 'true' } },
  Vary: {
    description:
      'Present if the answer depends on the form or the compression that the client accepts, or if the server lets pages of some origins read it',
    schema: { ...TEXT, enum: [...VARYING, 'Origin', ...VARYING.map(others => `${others}, Origin`)] },
  },
  Link: {
    description: 'Leads to the next page of a list that was cut, or to the rest of an array that was cut (RFC 8288)',
    schema: { type: 'string', pattern: '^</[^>]*>; rel="(next|more)"$' },
  },
  TotalCount: {
    description: 'The number of items in the whole list, or `count` if there are more',
    schema: { type: 'string', pattern: '^[0-9]{1,10}$' },
  },
  PreferenceApplied: {
    description: 'Present if the client preferred it',
    schema: { ...TEXT, const: 'handling=strict' },
  },
  RetryAfter: {
    description: 'Seconds. Absent if the database is damaged or was replaced, because trying again does not help.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
  RateLimit: {
    description:
      'How many requests the client may still send, in how many seconds. Present once it has sent half of them, if they are limited.',
    schema: { type: 'string', pattern: '^"default";r=[0-9]+;t=[0-9]+$' },
  },
  RateLimitPolicy: {
    description: 'How many requests a client may send, in how many seconds. Present beside `RateLimit`.',
    schema: { type: 'string', pattern: '^"default";q=[0-9]+;w=[0-9]+$' },
  },
  AcceptEncoding: { description: 'How to send the body', required: true, schema: { ...TEXT, const: 'identity' } },
}

/** For a service that asks for access keys. `CacheControl` replaces the one above. */
export const KEYED_HEADERS = {
  CacheControl: {
    ...RESPONSE_HEADERS.CacheControl,
    schema: { ...TEXT, enum: [...RESPONSE_HEADERS.CacheControl.schema.enum, 'private, no-cache'] },
  },
  Challenge: {
    description: 'Which key is needed (RFC 6750, 3)',
    required: true,
    schema: {
      type: 'string',
      pattern: '^Bearer realm="stockroom"(, error="(invalid_token|insufficient_scope)"(, scope="(write|admin)")?)?$',
    },
  },
}

/** Every answer has the first three, and may have the others. */
export const SHARED_HEADERS = {
  'X-Request-Id': { $ref: '#/components/headers/RequestId' },
  'X-Content-Type-Options': { $ref: '#/components/headers/NoSniff' },
  'Cache-Control': { $ref: '#/components/headers/CacheControl' },
  Vary: { $ref: '#/components/headers/Vary' },
  RateLimit: { $ref: '#/components/headers/RateLimit' },
  'RateLimit-Policy': { $ref: '#/components/headers/RateLimitPolicy' },
}

/** Answers to reads may have these. `Content-Encoding` is not described: mock servers would send it without compressing. */
export const READ_HEADERS = {
  ETag: { $ref: '#/components/headers/ETag' },
  Link: { $ref: '#/components/headers/Link' },
}

/** Answers to lists may have these. */
export const COUNTED_HEADERS = { 'X-Total-Count': { $ref: '#/components/headers/TotalCount' } }

const RETRY_HEADERS = { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }

export const RESPONSES = {
  NotModified: {
    description: 'The client has the current answer',
    headers: {
      ...SHARED_HEADERS,
      ...READ_HEADERS,
      ...COUNTED_HEADERS,
      'Preference-Applied': { $ref: '#/components/headers/PreferenceApplied' },
    },
  },
  BadRequest: failure('`Host` or `If-Match` is malformed, or there are several of `Host`'),
  InProgress: failure('A request with the same `Idempotency-Key` is in progress', RETRY_HEADERS),
  Changed: failure('Somebody else has changed it: it has none of the tags in `If-Match`'),
  TooLarge: failure('The body is too large'),
  TooSlow: failure('The body arrives too slowly'),
  Encoded: failure('The body is compressed or encoded otherwise', {
    'Accept-Encoding': { $ref: '#/components/headers/AcceptEncoding' },
  }),
  Misdirected: failure('The server does not answer for this `Host`, if it was told which ones are its own'),
  TooMany: failure('The client has sent too many requests, if the server was told to limit them', RETRY_HEADERS),
  Failed: failure('The server failed'),
  Unavailable: failure('The database cannot be used at the moment, or too many requests are waiting', RETRY_HEADERS),
}

const CHALLENGE = { 'WWW-Authenticate': { $ref: '#/components/headers/Challenge' } }

/** For a service that asks for access keys. */
export const KEYED_RESPONSES = {
  Unauthorized: failure('The access key is missing or not valid', CHALLENGE),
  Forbidden: failure('The access key does not allow this', CHALLENGE),
}

/** A header of a request, in text that keeps the rules. */
function header(name: string, description: string, rules: Readonly<Record<string, unknown>> = {}) {
  return { name, in: 'header', description, schema: { ...TEXT, ...rules } }
}

function failure(description: string, headers: Readonly<Record<string, object>> = {}) {
  const schema = { type: 'object', properties: { detail: TEXT }, required: ['detail'], additionalProperties: false }
  return { description, headers: { ...SHARED_HEADERS, ...headers }, content: { 'application/json': { schema } } }
}
