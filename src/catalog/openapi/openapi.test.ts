import { expect, test } from 'bun:test'
import { z } from '@hono/zod-openapi'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import type { Client } from '../../../test/harness/client.ts'
import { onOneEngine } from '../../../test/harness/contract.ts'

type Table = readonly (readonly [
  operationId: string,
  method: string,
  path: string,
  query: readonly string[],
  body: string | null,
  response: string,
])[]

const PAGED = ['skip', 'limit']

/** The specification's tables of endpoints, row by row. */
const OPERATIONS: Table = [
  ['read_categories_categories__get', 'get', '/categories/', PAGED, null, 'Category[]'],
  ['create_category_categories__post', 'post', '/categories/', [], 'CategoryCreate', 'Category'],
  ['read_category_categories__category_id__get', 'get', '/categories/{category_id}', [], null, 'Category'],
  [
    'update_category_categories__category_id__put',
    'put',
    '/categories/{category_id}',
    [],
    'CategoryCreate',
    'Category',
  ],
  ['delete_category_categories__category_id__delete', 'delete', '/categories/{category_id}', [], null, 'Category'],

  ['read_products_products__get', 'get', '/products/', PAGED, null, 'Product[]'],
  ['create_product_products__post', 'post', '/products/', [], 'ProductCreate', 'Product'],
  [
    'read_products_by_category_products__category_id__products_get',
    'get',
    '/products/{category_id}/products',
    [],
    null,
    'Product[]',
  ],
  [
    'create_product_by_category_products__category_id__products_post',
    'post',
    '/products/{category_id}/products',
    [],
    'ProductCreate',
    'Product',
  ],
  ['read_product_products__product_id__get', 'get', '/products/{product_id}', [], null, 'Product'],
  ['update_product_products__product_id__put', 'put', '/products/{product_id}', [], 'ProductCreate', 'Product'],
  ['delete_product_products__product_id__delete', 'delete', '/products/{product_id}', [], null, 'Product'],

  ['read_reviews_reviews__get', 'get', '/reviews/', PAGED, null, 'Review[]'],
  ['create_review_reviews__post', 'post', '/reviews/', [], 'ReviewCreate', 'Review'],
  [
    'read_reviews_by_product_reviews_products__product_id__get',
    'get',
    '/reviews/products/{product_id}',
    PAGED,
    null,
    'Review[]',
  ],
  ['read_reviews_by_user_reviews_users__user_id__get', 'get', '/reviews/users/{user_id}', PAGED, null, 'Review[]'],
  [
    'read_reviews_by_product_and_user_reviews_products__product_id__users__user_id__get',
    'get',
    '/reviews/products/{product_id}/users/{user_id}',
    PAGED,
    null,
    'Review[]',
  ],
  ['read_review_reviews__review_id__get', 'get', '/reviews/{review_id}', [], null, 'Review'],
  ['update_review_reviews__review_id__patch', 'patch', '/reviews/{review_id}', [], 'ReviewCreate', 'Review'],
  ['delete_review_reviews__review_id__delete', 'delete', '/reviews/{review_id}', [], null, 'Review'],

  ['read_users_users__get', 'get', '/users/', PAGED, null, 'User[]'],
  ['create_user_users__post', 'post', '/users/', [], 'UserCreate', 'User'],
  ['read_user_users__user_id__get', 'get', '/users/{user_id}', [], null, 'User'],
  ['update_user_users__user_id__patch', 'patch', '/users/{user_id}', [], 'UserCreate', 'User'],
  ['delete_user_users__user_id__delete', 'delete', '/users/{user_id}', [], null, 'User'],
]

const INTEGER = { type: 'integer' }
const TEXT = { type: 'string' }
const TEXT_3_TO_50 = { type: 'string', minLength: 3, maxLength: 50 }
const PRICE = { type: 'number', exclusiveMinimum: 0 }
const RATING = { type: 'integer', minimum: 1, maximum: 5 }
const ON = { type: 'integer', default: 1 }
const OFF = { type: 'integer', default: 0 }
const FLAGS = {
  is_active: ON,
  is_admin: OFF,
  is_banned: OFF,
  is_blocked: OFF,
  is_deleted: OFF,
  is_suspended: OFF,
  is_verified: OFF,
}

/** Embedded items, each field with its type: they are given no bounds, so whether they repeat any is left open. */
const PRODUCT_ITEM = { id: 'integer', name: 'string', description: 'string', price: 'number' }
const REVIEW_ITEM = { id: 'integer', product_id: 'integer', user_id: 'integer', rating: 'integer', comment: 'string' }
const USER_ITEM = { id: 'integer', name: 'string', avatar: 'string' }

/** The specification's tables of fields: of each shape the fields that are required, and those that are not. */
const SHAPES: Readonly<Record<string, { required: Record<string, unknown>; optional?: Record<string, unknown> }>> = {
  Category: {
    required: { id: INTEGER, name: TEXT_3_TO_50, description: TEXT_3_TO_50 },
    optional: { products: { ...embedded(PRODUCT_ITEM), default: [] } },
  },
  CategoryCreate: { required: { name: TEXT_3_TO_50, description: TEXT_3_TO_50 } },
  Product: {
    required: { id: INTEGER, name: TEXT_3_TO_50, description: TEXT, price: PRICE },
    optional: { reviews: { ...embedded(REVIEW_ITEM), default: [] } },
  },
  ProductCreate: { required: { name: TEXT_3_TO_50, description: TEXT, price: PRICE } },
  Review: {
    required: {
      id: INTEGER,
      product_id: INTEGER,
      user_id: INTEGER,
      rating: RATING,
      comment: TEXT,
      user: { embeds: USER_ITEM },
      product: { embeds: PRODUCT_ITEM },
    },
  },
  ReviewCreate: { required: { product_id: INTEGER, user_id: INTEGER, rating: RATING, comment: TEXT } },
  User: {
    required: { id: INTEGER, name: TEXT_3_TO_50, email: TEXT_3_TO_50, avatar: TEXT, password: TEXT },
    optional: { ...FLAGS, reviews: embedded(REVIEW_ITEM) },
  },
  UserCreate: {
    required: { name: TEXT_3_TO_50, email: TEXT_3_TO_50, avatar: TEXT, password: TEXT },
    optional: FLAGS,
  },
  ValidationError: {
    required: { loc: { type: 'array', items: { anyOf: [TEXT, INTEGER] } }, msg: TEXT, type: TEXT },
  },
}

/** Redocly's strictest rules, without those that contradict the specification. */
const LINT_RULES = {
  // Collections end with a slash: general rule 5.
  'no-path-trailing-slash': 'off',
  // No security scheme is declared for any operation.
  'security-defined': 'off',
  // The address is wherever the document was read from, which is what a document without servers means.
  'no-empty-servers': 'off',
  // The specification names no licence of the interface.
  'info-license': 'off',
  'info-license-strict': 'off',
} as const

const Schema = z.record(z.string(), z.unknown())
const Content = z.strictObject({ 'application/json': z.strictObject({ schema: Schema }) })
const Operation = z.object({
  operationId: z.string(),
  parameters: z
    .array(z.object({ name: z.string(), in: z.string(), required: z.boolean(), schema: Schema }))
    .default([]),
  requestBody: z.object({ required: z.boolean(), content: Content }).optional(),
  responses: z.record(z.string(), z.object({ description: z.string(), content: Content })),
})
const Description = z.object({
  openapi: z.string(),
  info: z.object({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({ schemas: z.record(z.string(), Schema) }),
})

onOneEngine('the interface description', api => {
  test('/openapi.json is OpenAPI 3.1.0 of the Store API, version 0.1.0, as JSON', async () => {
    const answer = await api.get('/openapi.json')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('Content-Type')).toBe('application/json')
    expect(answer.body).toMatchObject({ openapi: '3.1.0', info: { title: 'Store API', version: '0.1.0' } })
  })

  test('both interface descriptions are compressed, revalidated before each use, and 304 for a client that has them', async () => {
    for (const path of ['/openapi.json', '/openapi.strict.json']) {
      const plain = await fetch(api.address() + path, { headers: { 'Accept-Encoding': 'identity' } })
      const packed = await fetch(api.address() + path, { headers: { 'Accept-Encoding': 'gzip' } })
      expect(await packed.text(), path).toBe(await plain.text())
      expect(packed.headers.get('Content-Encoding'), path).toBe('gzip')
      for (const { headers } of [plain, packed]) {
        expect(headers.get('Content-Type'), path).toBe('application/json')
        expect(headers.get('Cache-Control'), path).toBe('no-cache')
        expect(headers.get('Vary'), path).toBe('Accept-Encoding')
      }
      for (const tag of [plain.headers.get('ETag') ?? '', '*', '"other"']) {
        const { status, body } = await api.get(path, { 'If-None-Match': tag })
        expect(status, `${path} ${tag}`).toBe(tag === '"other"' ? 200 : 304)
        expect(body === '', `${path} ${tag}`).toBe(status === 304)
      }
    }
  })

  test('/openapi.json has exactly the 25 operations of the specification, with its ids, methods and paths', async () => {
    const described = (await operations(api)).map(({ operationId, method, path }) => `${operationId} ${method} ${path}`)
    expect(described.sort()).toEqual(OPERATIONS.map(([id, method, path]) => `${id} ${method} ${path}`).sort())
    expect(described).toHaveLength(25)
  })

  test('/openapi.json gives each operation exactly its parameters: integers without bounds, with the specified defaults', async () => {
    const described = (await operations(api)).map(({ operationId, parameters }) => [
      operationId,
      parameters.sort(byName),
    ])
    const path = (name: string) => ({ name, in: 'path', required: true, schema: INTEGER })
    const query = (name: string) => ({
      name,
      in: 'query',
      required: false,
      schema: { type: 'integer', default: name === 'skip' ? 0 : 100 },
    })
    const specified = OPERATIONS.map(([operationId, , url, names]) => [
      operationId,
      [...parametersOf(url).map(path), ...names.map(query)].sort(byName),
    ])
    expect(Object.fromEntries(described)).toEqual(Object.fromEntries(specified))
  })

  test('/openapi.json requires a JSON body of the specified shape if an operation takes one, and nowhere else', async () => {
    const described = (await operations(api)).map(({ operationId, requestBody }) => [
      operationId,
      requestBody && { required: requestBody.required, shape: shapeName(requestBody.content) },
    ])
    const specified = OPERATIONS.map(([operationId, , , , body]) => [
      operationId,
      body === null ? undefined : { required: true, shape: body },
    ])
    expect(Object.fromEntries(described)).toEqual(Object.fromEntries(specified))
  })

  test('/openapi.json answers each operation with 200 and its shape, or with 422 and an HTTPValidationError', async () => {
    const described = (await operations(api)).map(({ operationId, responses: { 200: success, 422: refusal } }) => [
      operationId,
      { success: success && shapeName(success.content), refusal: refusal && shapeName(refusal.content) },
    ])
    const specified = OPERATIONS.map(([operationId, , , , , response]) => [
      operationId,
      { success: response, refusal: 'HTTPValidationError' },
    ])
    expect(Object.fromEntries(described)).toEqual(Object.fromEntries(specified))
  })

  test('/openapi.json documents 404 for each operation that can name something missing, and no other status', async () => {
    for (const { operationId, path, requestBody, responses } of await operations(api)) {
      const canMiss = path.includes('{') || (requestBody && shapeName(requestBody.content) === 'ReviewCreate')
      expect(Object.keys(responses).sort(), operationId).toEqual(canMiss ? ['200', '404', '422'] : ['200', '422'])
    }
  })

  test('/openapi.json gives each shape exactly the fields, bounds, defaults and required fields of the specification', async () => {
    const { schemas } = (await description(api)).components
    const specified = Object.entries(SHAPES).map(([name, { required, optional = {} }]) => [
      name,
      { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required).sort() },
    ])
    const described = Object.keys(SHAPES).map(name => [name, rules(schemas[name], schemas)])
    expect(Object.fromEntries(described)).toEqual(Object.fromEntries(specified))
  })

  test('/openapi.json says that a price is in USD, wherever a product has one', async () => {
    const { schemas } = (await description(api)).components
    for (const name of ['Product', 'ProductCreate', 'EmbeddedProduct']) {
      expect(schemas[name], name).toMatchObject({ properties: { price: { description: 'In USD' } } })
    }
  })

  test('/openapi.json describes an HTTPValidationError as an object whose detail is an array of ValidationErrors', async () => {
    const { schemas } = (await description(api)).components
    expect(schemas.HTTPValidationError).toMatchObject({
      type: 'object',
      properties: { detail: { type: 'array', items: { $ref: '#/components/schemas/ValidationError' } } },
    })
  })

  test('/openapi.json names no schemas but those of the specification and the nested ones', async () => {
    const { schemas } = (await description(api)).components
    const own = Object.keys(schemas).filter(name => !(name in SHAPES) && name !== 'HTTPValidationError')
    expect(own.sort()).toEqual(['EmbeddedProduct', 'EmbeddedReview', 'EmbeddedUser'])
  })

  test('/openapi.json names no operations of the server, and no parameters that the specification does not have', async () => {
    const { body } = await api.get('/openapi.json')
    const text = JSON.stringify(body)
    for (const word of ['after_id', 'healthz', 'readyz', 'metrics', 'openapi.json', 'docs', 'security']) {
      expect(text, word).not.toContain(word)
    }
  })

  test("/openapi.json passes Redocly's strictest lint, except for rules that contradict the specification", async () => {
    const source = JSON.stringify((await api.get('/openapi.json')).body)
    const config = await createConfig({ extends: ['recommended-strict'], rules: LINT_RULES })
    const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config })
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([])
    // Premise: the linter does find an error.
    const wrong = source.replace('read_user_users__user_id__get', 'read_users_users__get')
    const found = await lintFromString({ source: wrong, absoluteRef: '/openapi.json', config })
    expect(found.map(problem => problem.ruleId)).toEqual(['operation-operationId-unique'])
  })
})

async function description(api: Client): Promise<z.output<typeof Description>> {
  return Description.parse((await api.get('/openapi.json')).body)
}

async function operations(api: Client) {
  return Object.entries((await description(api)).paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  )
}

function parametersOf(url: string): string[] {
  return [...url.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '')
}

function byName(one: { name: string }, other: { name: string }): number {
  return one.name < other.name ? -1 : 1
}

/** `Category`, or `Category[]` for a list of them. */
function shapeName(content: z.output<typeof Content>): string {
  const { schema } = content['application/json']
  const list = z.strictObject({ type: z.literal('array'), items: Schema }).safeParse(schema)
  const { $ref } = z.strictObject({ $ref: z.string() }).parse(list.success ? list.data.items : schema)
  return $ref.replace('#/components/schemas/', '') + (list.success ? '[]' : '')
}

function embedded(fields: Record<string, string>): Record<string, unknown> {
  return { type: 'array', maxItems: 100, items: { embeds: fields } }
}

/** A schema without the words that only explain it, its references to embedded items replaced by those items' fields. */
function rules(schema: unknown, schemas: Record<string, unknown>): unknown {
  const { title, description, examples, ...rest } = Schema.parse(schema)
  if (typeof rest.$ref === 'string') {
    const target = z
      .object({ properties: z.record(z.string(), z.object({ type: z.string() })), required: z.array(z.string()) })
      .parse(schemas[rest.$ref.replace('#/components/schemas/', '')])
    expect(target.required.toSorted(), rest.$ref).toEqual(Object.keys(target.properties).sort())
    return { embeds: Object.fromEntries(Object.entries(target.properties).map(([name, { type }]) => [name, type])) }
  }
  if (rest.properties) {
    const properties = Object.entries(Schema.parse(rest.properties))
    rest.properties = Object.fromEntries(properties.map(([name, property]) => [name, rules(property, schemas)]))
  }
  if (rest.items) rest.items = rules(rest.items, schemas)
  if (Array.isArray(rest.required)) rest.required.sort()
  return rest
}
