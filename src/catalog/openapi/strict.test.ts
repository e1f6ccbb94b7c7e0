import { expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import { startKeyedShop } from '../../../test/harness/catalog/keyed-shop.ts'
import { type Client, client } from '../../../test/harness/client.ts'
import { onOneEngine } from '../../../test/harness/contract.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService } from '../../../test/harness/service.ts'
import { NDJSON_TYPE } from '../http/validation/ndjson-type.ts'

setDefaultTimeout(120_000)

const Operation = z.object({
  description: z.string(),
  parameters: z.array(
    z.object({ $ref: z.string().optional(), name: z.string().optional(), description: z.string().optional() }),
  ),
  responses: z.record(z.string(), z.unknown()),
})
const Described = z.object({ headers: z.record(z.string(), z.unknown()) })
const EventData = z.object({ properties: z.record(z.string(), z.unknown()) })
const Property = z.looseObject({ default: z.unknown().optional() })
const Description = z.object({
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({
    schemas: z.record(
      z.string(),
      z.object({ properties: z.record(z.string(), Property).optional(), required: z.array(z.string()).optional() }),
    ),
  }),
})

/** The parts of a description that tell which values parameters have. */
const Parameters = z.object({
  paths: z.record(
    z.string(),
    z.object({
      get: z
        .object({ parameters: z.array(z.looseObject({ name: z.string().optional(), schema: z.unknown().optional() })) })
        .optional(),
    }),
  ),
})

/** The parts of a description that tell what a read answers with. */
const Chosen = z.object({
  paths: z.record(
    z.string(),
    z.object({
      get: z
        .object({
          responses: z.record(
            z.string(),
            z.looseObject({ content: z.record(z.string(), z.object({ schema: z.unknown() })).default({}) }),
          ),
        })
        .optional(),
    }),
  ),
})

/** The parts of a description that tell which access key an operation needs. */
const Guarded = z.object({
  paths: z.record(
    z.string(),
    z.record(z.string(), z.object({ security: z.unknown(), responses: z.record(z.string(), z.unknown()) })),
  ),
})
const NEEDS_WRITE = { description: 'This requires an access key of the scope write' }

onOneEngine('the strict description', api => {
  test('/openapi.strict.json says of a list of ids that it is one, and of an id in a path whose it is', async () => {
    const about = parametersIn(await operations(api))
    expect(about('/products/', 'category_id')).toStartWith('Only products in one of these categories')
    expect(about('/facets/products', 'category_id')).toStartWith('Only products in one of these categories')
    expect(about('/reviews/', 'product_id')).toBe('Only reviews of one of these products')
    expect(about('/reviews/', 'user_id')).toBe('Only reviews by one of these users')
    expect(about('/events', 'product_id')).toBe('Only events about these products and their reviews')
    expect(about('/reviews/products/{product_id}', 'product_id')).toBe('The id of the product')
  })

  test('/openapi.strict.json has no default for what an update keeps, nor for the category of a line, nor for members that were not chosen', async () => {
    const { schemas } = Description.parse((await api.get('/openapi.strict.json')).body).components
    const defaults = (name: string) =>
      Object.entries(schemas[name]?.properties ?? {}).flatMap(([field, schema]) => ('default' in schema ? [field] : []))
    expect(schemas.UserUpdate?.properties).toHaveProperty('is_banned')
    expect(defaults('UserUpdate')).toEqual([])
    expect(schemas.ProductLine?.properties).toHaveProperty('category_id')
    expect(defaults('ProductLine')).toEqual([])
    expect(schemas.ProductFields?.properties).toHaveProperty('reviews')
    expect(defaults('ProductFields')).toEqual([])
    expect(schemas.UserFields?.properties).toHaveProperty('is_banned')
    expect(defaults('UserFields')).toEqual([])
    expect(defaults('UserCreate')).toHaveLength(7)
  })

  test('/openapi.strict.json speaks of an array and of flags only where a resource has them', async () => {
    const described = await operations(api)
    const about = (path: string, method: string) => described[path]?.[method]?.description
    for (const path of ['/categories/{category_id}', '/products/{product_id}', '/users/{user_id}']) {
      expect(about(path, 'get'), path).toContain('at most 100 items of its array')
    }
    expect(about('/reviews/{review_id}', 'get')).toBe('Reads it.')
    expect(about('/users/{user_id}', 'patch')).toContain('A flag that is left out keeps its value')
    expect(about('/reviews/{review_id}', 'patch')).toBe('Sets all its fields.')
  })

  test('/openapi.strict.json gives every part of a schema its type: generators make any, or no type at all, of one without', async () => {
    const parts = partsOf((await api.get('/openapi.strict.json')).body)
    expect(parts.length).toBeGreaterThan(500)
    const untyped = parts.filter(part => !['type', '$ref', 'anyOf'].some(word => word in part))
    expect(untyped).toEqual([])
  })

  test('/openapi.strict.json describes the place of an error without a tuple: generators forget all that comes after its items', async () => {
    const { schemas } = Description.parse((await api.get('/openapi.strict.json')).body).components
    expect(schemas.ValidationError?.properties?.loc).toMatchObject({
      type: 'array',
      items: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    })
    expect(schemas.ValidationError?.properties?.loc).not.toHaveProperty('prefixItems')
  })

  test('/openapi.strict.json says that a histogram has five numbers, and that a review is about a product and a user that exist', async () => {
    const { schemas } = Description.parse((await api.get('/openapi.strict.json')).body).components
    expect(schemas.Rating?.properties?.histogram).toMatchObject({ minItems: 5, maxItems: 5 })
    for (const name of ['id', 'product_id', 'user_id']) {
      expect(schemas.Review?.properties?.[name], name).toMatchObject({ minimum: 1 })
    }
    expect(schemas.ReviewCreate?.properties?.product_id).not.toMatchObject({ minimum: 1 })
  })

  test('/openapi.strict.json has the same rule for texts in Unicode mode and without it, as generated validators read it', async () => {
    const { schemas } = Description.parse((await api.get('/openapi.strict.json')).body).components
    const { pattern } = z.object({ pattern: z.string() }).parse(schemas.ProductCreate?.properties?.name)
    for (const text of [
      '',
      'Spade',
      'Vase 🌸',
      '🌸🌸',
      '花',
      '\n',
      '\ufffd',
      '\0',
      'a\0',
      '🌸\0',
      '\ud83c',
      '\udf38\ud83c',
      '🌸\udf38',
    ]) {
      const isStorable = text.isWellFormed() && !text.includes('\0')
      expect([new RegExp(pattern, 'u').test(text), new RegExp(pattern).test(text)], JSON.stringify(text)).toEqual([
        isStorable,
        isStorable,
      ])
    }
  })

  test('/openapi.strict.json describes chosen members before all of them: validators take what fits first, and drop the rest', async () => {
    const { paths } = Chosen.parse((await api.get('/openapi.strict.json')).body)
    const schema = paths['/products/{product_id}']?.get?.responses[200]?.content['application/json']?.schema
    const named = (name: string) => ({ $ref: `#/components/schemas/${name}` })
    expect(schema).toEqual({ anyOf: [named('ProductFields'), named('Product')] })
  })

  test('/openapi.strict.json leaves the compression of an answer to HTTP: mock servers say that they compress, and do not', async () => {
    const { body, headers } = await api.get('/openapi.strict.json', { 'Accept-Encoding': 'gzip' })
    expect(headers.get('Content-Encoding')).toBe('gzip')
    const responses = Object.values(Description.parse(body).paths).flatMap(methods =>
      Object.values(methods).map(operation => operation.responses),
    )
    expect(responses.filter(each => JSON.stringify(each).includes('Content-Encoding'))).toEqual([])
  })

  test('/openapi.strict.json requires of an event what each has: a reset is about no resource', async () => {
    const { schemas } = Description.parse((await api.get('/openapi.strict.json')).body).components
    const { body } = await api.get('/events?since=of-another-database', { Accept: 'application/x-ndjson' })
    const members = Object.keys(JSON.parse(String(body)))
    expect(Object.keys(schemas.Event?.properties ?? {})).toEqual(expect.arrayContaining(members))
    expect(schemas.Event?.required).toEqual(members)
  })

  test('/openapi.strict.json describes each member of the data of events, so that generated types know them', async () => {
    const { schemas } = Description.parse((await api.get('/openapi.strict.json')).body).components
    const described = EventData.parse(schemas.Event?.properties?.data).properties
    const category = await api.create('/categories/', sample.category)
    const product = await api.create(`/products/${category}/products`, sample.product)
    const user = await api.create('/users/', sample.user)
    const review = await api.create('/reviews/', sample.review(product, user))
    await api.patch(`/reviews/${review}`, sample.review(product, user))
    await api.delete(`/users/${user}`)
    const line = { method: 'POST', body: JSON.stringify(sample.category), headers: { 'Content-Type': NDJSON_TYPE } }
    expect((await api.send('/categories/', line)).status).toBe(200)
    const polled = await api.get('/events?since=start&limit=1000', { Accept: NDJSON_TYPE })
    const lines = String(polled.body).trim().split('\n')
    const sent = new Set(lines.flatMap(line => Object.keys(JSON.parse(line).data)))
    // Premise: there are members of reviews that were changed and deleted, and of an import.
    expect([...sent]).toEqual(expect.arrayContaining(['category_id', 'from_product_id', 'product_ids', 'last_id']))
    expect(Object.keys(described)).toEqual(expect.arrayContaining([...sent, 'resumed', 'reason']))
  })

  test('/openapi.strict.json names the header fields that each kind of operation reads and sends, and each status that it answers with', async () => {
    const described = await operations(api)
    const about = (path: string, method: string) => {
      const { parameters = [], responses = {} } = described[path]?.[method] ?? {}
      const fields = parameters.flatMap(({ $ref }) => $ref?.replace('#/components/parameters/', '') ?? [])
      return [...fields, ...Object.keys(responses)].join(' ')
    }
    expect(about('/products/', 'get')).toBe('IfNoneMatch Prefer RequestId 200 304 400 421 422 429 500 503')
    expect(about('/products/', 'post')).toBe(
      'IdempotencyKey ContentEncoding RequestId 200 400 408 409 413 415 421 422 429 500 503',
    )
    const product = '/products/{product_id}'
    expect(about(product, 'get')).toBe('IfNoneMatch Prefer RequestId 200 304 400 404 421 422 429 500 503')
    expect(about(product, 'put')).toBe(
      'IfMatch ContentEncoding RequestId 200 400 404 408 412 413 415 421 422 429 500 503',
    )
    expect(about(product, 'delete')).toBe('IfMatch RequestId 200 400 404 412 421 422 429 500 503')
    expect(about('/events', 'get')).toBe('LastEventId Prefer RequestId 200 400 421 422 429 500 503')
    const sent = (method: string) =>
      Object.keys(Described.parse(described['/products/']?.[method]?.responses[200]).headers)
    expect(sent('get')).toEqual(expect.arrayContaining(['ETag', 'Link', 'X-Total-Count', 'Preference-Applied']))
    expect(sent('post')).toEqual(expect.arrayContaining(['ETag', 'Idempotency-Replayed']))
  })

  test('/openapi.strict.json has no default for a skip that excludes a cursor: /docs sends defaults', async () => {
    const { paths } = Parameters.parse((await api.get('/openapi.strict.json')).body)
    const schemaOf = (path: string) => paths[path]?.get?.parameters.find(({ name }) => name === 'skip')?.schema
    for (const path of ['/products/', '/reviews/products/{product_id}']) {
      expect(schemaOf(path), path).toEqual({ type: 'integer', minimum: 0 })
    }
    expect(schemaOf('/reviews/products/{product_id}/users/{user_id}')).toHaveProperty('default', 0)
  })

  test('/openapi.strict.json says in words which parameters exclude or bound each other', async () => {
    const about = parametersIn(await operations(api))
    for (const path of ['/products/', '/categories/', '/users/', '/reviews/', '/reviews/products/{product_id}']) {
      expect(about(path, 'limit'), path).toContain('at most 1,000')
      expect(about(path, 'after_id'), path).toContain('`sort=id`')
      expect(about(path, 'cursor'), path).toContain('Without `skip` and `after_id`')
    }
    expect(about('/facets/products', 'price_bands')).toContain('each higher than the one before')
    expect(about('/events', 'limit')).not.toContain('1,000')
    expect(about('/products/{category_id}/products', 'after_id')).not.toContain('sort')
  })
})

test('with access keys, /openapi.strict.json names the scope that each operation needs, and the 403 of events', async () => {
  await using shop = await startKeyedShop(sqlite, ['--public-reads', 'on'])
  const described = await operations(shop.api.read)
  const scope = (path: string, method: string) =>
    /scope `(\w+)`/.exec(described[path]?.[method]?.description ?? '')?.[1]
  expect(scope('/products/', 'get')).toBeUndefined()
  expect(scope('/products/', 'post')).toBe('write')
  expect(scope('/reviews/{review_id}', 'delete')).toBe('write')
  expect(scope('/users/{user_id}', 'get')).toBe('admin')
  expect(scope('/events', 'get')).toBe('admin')
  expect((await shop.api.read.get('/events?types=user')).status).toBe(403)
  expect(Object.keys(described['/events']?.get?.responses ?? {})).toContain('403')
  expect(described['/events']?.get?.description).toContain('Events about users need the scope `admin`.')
  expect(Object.keys(described['/products/']?.get?.responses ?? {})).not.toContain('403')
  for (const path of ['/openapi.json', '/openapi.strict.json']) {
    const { paths } = Guarded.parse((await shop.api.read.get(path)).body)
    expect(paths['/products/']?.get?.security, path).toEqual([{}, { AccessKey: [] }])
    expect(paths['/products/']?.post?.security, path).toEqual([{ AccessKey: [] }])
  }
  const { get, post } = Guarded.parse((await shop.api.read.get('/openapi.json')).body).paths['/products/'] ?? {}
  expect(get?.responses).toMatchObject({ 401: { description: 'The access key is not valid' } })
  expect(get?.responses).not.toHaveProperty('403')
  expect(post?.responses).toMatchObject({ 401: NEEDS_WRITE, 403: NEEDS_WRITE })
})

test('with a rate limit and origins, /openapi.strict.json describes the fields that tell of them in every answer', async () => {
  await using database = await sqlite.freshDatabase()
  const flags = ['--rate-limit', '2/min', '--cors-origins', 'https://shop.example']
  await using service = await startService(database.url, { flags })
  const api = client(() => service.address)
  const { responses } = (await operations(api))['/products/{product_id}']?.put ?? {}
  const { status, headers } = await api.put('/products/1', sample.product)
  const sent = [...headers.keys()].filter(name => name.startsWith('ratelimit') || name === 'vary')
  expect([status, ...sent]).toEqual([404, 'ratelimit', 'ratelimit-policy', 'vary'])
  for (const code of ['200', '404', '422']) {
    const described = Object.keys(Described.parse(responses?.[code]).headers).map(name => name.toLowerCase())
    expect(described, code).toEqual(expect.arrayContaining(sent))
  }
})

async function operations(api: Client) {
  return Description.parse((await api.get('/openapi.strict.json')).body).paths
}

/** Makes the function that finds the description of a parameter of a read. */
function parametersIn(paths: Awaited<ReturnType<typeof operations>>) {
  return (path: string, name: string): string =>
    paths[path]?.get?.parameters.find(parameter => parameter.name === name)?.description ?? ''
}

/** All schemas in a part of a description. */
function partsOf(described: unknown): object[] {
  if (typeof described !== 'object' || described === null) return []
  const own = Object.entries(described).flatMap(([word, value]) => {
    if (['schema', 'items'].includes(word)) return [value]
    return ['properties', 'allOf', 'anyOf', 'prefixItems'].includes(word) ? Object.values(value) : []
  })
  return [...own.filter(part => part instanceof Object), ...Object.values(described).flatMap(partsOf)]
}
