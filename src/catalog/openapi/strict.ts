import { type RouteConfig, z } from '@hono/zod-openapi'
import type { Access } from '../http/guard.ts'
import { IDEMPOTENCY_REPLAYED } from '../http/idempotency/header.ts'
import type { AnyContract } from '../http/operation.ts'
import { HTTPValidationError } from '../http/validation/errors.ts'
import { NDJSON_TYPE } from '../http/validation/ndjson-type.ts'
import { STRICTER } from '../http/validation/stricter.ts'
import { identity, openApi, securityOf, securitySchemesOf } from './document.ts'
import {
  COUNTED_HEADERS,
  KEYED_HEADERS,
  KEYED_RESPONSES,
  PARAMETERS,
  READ_HEADERS,
  RESPONSE_HEADERS,
  RESPONSES,
  SHARED_HEADERS,
} from './strict-components.ts'

const ABOUT = [
  'The backend behind a storefront, with every rule that it enforces and every status that an operation answers with.',
  'Numbers are doubles, and lengths count Unicode code points. What is not described is ignored: members of a body,',
  'parameters of a query, headers. `HEAD` is answered as `GET`, without the body. Another method of a path gets 405 with',
  '`Allow`, another path 404, and the path of a collection without its final slash 307. `application/*+json` is JSON, too.',
  `Each line of a body of \`${NDJSON_TYPE}\` is an item of the array that is described.`,
].join(' ')

const LICENSE = { name: 'MIT', url: 'https://opensource.org/license/mit' }

/** For parameters whose schemas have no description, by name. */
const PARAMETER_DESCRIPTIONS: Readonly<Record<string, string>> = {
  skip: 'How many items to pass over',
  limit: 'How many items to return at most',
  after_id: 'Returns only items whose id is greater',
  sort: 'The order of the items; a minus reverses it',
  category_id: 'The id of the category',
  product_id: 'The id of the product',
  review_id: 'The id of the review',
  user_id: 'The id of the user',
}

/** The same for lists that can be selected and sorted: with the rules about other parameters. */
const SELECTION_DESCRIPTIONS: Readonly<Record<string, string>> = {
  limit: 'How many items to return at most. With a filter, `q`, `sort`, `cursor` or `count`, it is at most 1,000.',
  after_id:
    'Returns only items whose id is greater. It needs the order of ids: `sort=id`, or no `sort` and no word in `q`.',
}

const ACTIONS = {
  get: 'Reads it.',
  post: 'Creates it.',
  put: 'Sets all its fields.',
  patch: 'Sets all its fields.',
  delete: 'Deletes it, and answers with it as it was just before.',
} as const

/** `/openapi.strict.json`: the operations of `/openapi.json` from the same contracts, and further ones, with every rule, header and status. */
export function strictDescription(contracts: readonly AnyContract[], access: Access | null): string {
  const { openapi, info, paths, components } = openApi(contracts.map(contract => strictOperation(contract, access)))
  const schemas = Object.entries(components?.schemas ?? {}).map(([name, schema]) => [
    name,
    // Requests may have other members, too.
    /(Create|Update|Line)$/.test(name) ? schema : complete(schema, /(Fields|Facets|Event)$/.test(name)),
  ])
  const description = {
    openapi,
    info: {
      ...info,
      description: ABOUT,
      contact: { name: 'The operator of this service' },
      license: LICENSE,
    },
    servers: [{ url: '/', description: 'The server of this description' }],
    security: [],
    tags: [...new Set(contracts.map(({ tag }) => tag))]
      .toSorted()
      .map(name => ({ name, description: `${name} of the shop` })),
    paths,
    components: {
      schemas: Object.fromEntries(schemas),
      headers: { ...RESPONSE_HEADERS, ...(access && KEYED_HEADERS) },
      parameters: PARAMETERS,
      responses: { ...RESPONSES, ...(access && KEYED_RESPONSES) },
      ...securitySchemesOf(access),
    },
  }
  return JSON.stringify(description, (_, value) => withStricterRules(value))
}

function strictOperation(contract: AnyContract, access: Access | null): RouteConfig {
  const { method, path, body, absent, lines, chosen, streams } = contract
  const query = contract.query()
  // Both fit if all members were chosen and further ones: validators that take the first would drop these.
  const response = chosen ? z.union([chosen(), contract.response]) : contract.response
  const action = contract.description ?? ACTIONS[method]
  const required = securityOf(contract, access)
  const isRead = method === 'get'
  const isCached = isRead && streams === undefined
  const isChange = !isRead && method !== 'post'
  const isList = contract.response instanceof z.ZodArray && isCached
  const hasBody = body instanceof z.ZodObject
  const missing = absent.map(resource => `${resource} not found`)
  const needed = required ? [required.needed, contract.restricted] : []
  const about = isList
    ? `Lists them in the order of ${'sort' in query.shape ? '`sort`, or else of ' : ''}their ids.`
    : (streams ?? action + (lines ? FROM_LINES : ''))
  return {
    ...identity(contract, required),
    description: [about, ...needed.filter(text => text)].join(' '),
    parameters: [
      ...(streams ? [{ $ref: '#/components/parameters/LastEventId' }] : []),
      ...(isCached ? [{ $ref: '#/components/parameters/IfNoneMatch' }] : []),
      ...(isRead ? [{ $ref: '#/components/parameters/Prefer' }] : []),
      ...(isChange ? [{ $ref: '#/components/parameters/IfMatch' }] : []),
      ...(method === 'post' ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
      ...(hasBody ? [{ $ref: '#/components/parameters/ContentEncoding' }] : []),
      { $ref: '#/components/parameters/RequestId' },
    ],
    request: {
      params: explained(path),
      query: explained(query),
      ...(hasBody && {
        body: {
          required: true,
          content: {
            'application/json': { schema: body },
            ...(lines && { [NDJSON_TYPE]: { schema: z.array(lines.line) } }),
          },
        },
      }),
    },
    responses: {
      200: {
        description: 'Successful Response',
        headers: {
          ...SHARED_HEADERS,
          ...(isCached ? READ_HEADERS : { Link: READ_HEADERS.Link }),
          ...(isRead && { 'Preference-Applied': { $ref: '#/components/headers/PreferenceApplied' } }),
          ...('count' in query.shape && COUNTED_HEADERS),
          ...(method !== 'delete' && !streams && { ETag: READ_HEADERS.ETag }),
          ...(method === 'post' && { [IDEMPOTENCY_REPLAYED]: { $ref: '#/components/headers/IdempotencyReplayed' } }),
        },
        content: streams
          ? { 'text/event-stream': { schema: z.string() }, [NDJSON_TYPE]: { schema: response } }
          : {
              'application/json': { schema: lines ? z.union([response, lines.response]) : response },
              ...(isList && { [NDJSON_TYPE]: { schema: response } }),
            },
      },
      ...(isCached && { 304: { $ref: '#/components/responses/NotModified' } }),
      400: { $ref: '#/components/responses/BadRequest' },
      ...(required && { 401: { $ref: '#/components/responses/Unauthorized' } }),
      ...((required?.forbidden || (required && contract.restricted)) && {
        403: { $ref: '#/components/responses/Forbidden' },
      }),
      ...(missing.length > 0 && {
        404: {
          description: missing.join(', or '),
          headers: SHARED_HEADERS,
          content: { 'application/json': { schema: z.strictObject({ detail: z.enum(missing) }) } },
        },
      }),
      ...(method === 'post' && { 409: { $ref: '#/components/responses/InProgress' } }),
      ...(isChange && { 412: { $ref: '#/components/responses/Changed' } }),
      ...(hasBody && {
        408: { $ref: '#/components/responses/TooSlow' },
        413: { $ref: '#/components/responses/TooLarge' },
        415: { $ref: '#/components/responses/Encoded' },
      }),
      421: { $ref: '#/components/responses/Misdirected' },
      422: {
        description: `Validation Error${lines ? OF_LINES : ''}`,
        headers: SHARED_HEADERS,
        content: { 'application/json': { schema: HTTPValidationError } },
      },
      429: { $ref: '#/components/responses/TooMany' },
      500: { $ref: '#/components/responses/Failed' },
      503: { $ref: '#/components/responses/Unavailable' },
    },
  }
}

const FROM_LINES = ' Or, from lines of NDJSON, many: all of them, or none.'

const OF_LINES =
  '. Of NDJSON, `loc` has the number of the line, from 1, after `body`; an `id` that is not above every id so far and a reference to what does not exist are errors.'

/** Parameters with their descriptions. */
function explained(parameters: z.ZodObject): z.ZodObject {
  const isSelection = 'sort' in parameters.shape
  const all = Object.entries<z.ZodType>(parameters.shape).map(([name, schema]) => {
    const ofSelection = isSelection ? SELECTION_DESCRIPTIONS[name] : undefined
    const description = schema.description ?? ofSelection ?? PARAMETER_DESCRIPTIONS[name]
    if (description === undefined) throw new Error(`no description of the parameter ${name}`)
    // Tools that send defaults could not send a cursor, which a `skip` excludes.
    const rules = name === 'skip' && isSelection ? { default: undefined } : {}
    return [name, schema.openapi({ ...rules, param: { description } })]
  })
  return z.object(Object.fromEntries(all))
}

/** Responses have exactly these members, or only some of them. Then those that are not there have no default, either. */
function complete(schema: object, areSome: boolean): object {
  const properties: Readonly<Record<string, object>> = 'properties' in schema ? Object(schema.properties) : {}
  const chosen = Object.entries(properties).map(([name, member]) => [name, { ...member, default: undefined }])
  const members = areSome ? { properties: Object.fromEntries(chosen) } : { required: Object.keys(properties) }
  return { ...schema, ...members, additionalProperties: false }
}

/** Puts the rules that only this description states beside the others. If both bound a field, the field's own bound is stricter. */
function withStricterRules(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !(STRICTER in value)) return value
  const { [STRICTER]: rules, ...others } = value
  return Object.assign({}, rules, others)
}
