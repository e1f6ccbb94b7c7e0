import { expect } from 'bun:test'
import fc, { type Arbitrary } from 'fast-check'
import { campaign, type Effort } from '../harness/campaign.ts'
import type { Client } from '../harness/client.ts'
import { onEachEngine } from '../harness/contract.ts'
import { sample } from '../harness/samples.ts'
import { invalidBody, type Shape, shapes } from './bodies.ts'

const RUNS = 60

const JSON_HEADERS = { 'Content-Type': 'application/json' }

/** Lists in which skip and limit choose a page, as the specification's tables have them. */
const PAGED_PATHS = [
  '/categories/',
  '/products/',
  '/reviews/',
  '/users/',
  '/reviews/products/{product_id}',
  '/reviews/users/{user_id}',
  '/reviews/products/{product_id}/users/{user_id}',
]

/** Paths of GET without a page. */
const UNPAGED_PATHS = [
  '/categories/{category_id}',
  '/products/{product_id}',
  '/products/{category_id}/products',
  '/reviews/{review_id}',
  '/users/{user_id}',
]

interface Spelling {
  readonly text: string
  /** The error of this text as a parameter. */
  readonly error: { readonly type: string; readonly msg: string } | null
}

onEachEngine('invalid bodies', api => {
  campaign('any invalid category gets a 422 that names exactly what is wrong, and creates nothing', async effort => {
    await isRefused(api, '/categories/', sample.category, shapes.category, effort)
  })

  campaign('any invalid product gets a 422 that names exactly what is wrong, and creates nothing', async effort => {
    await isRefused(api, '/products/', sample.product, shapes.product, effort)
  })

  campaign('any invalid review gets a 422 that names exactly what is wrong, and creates nothing', async effort => {
    const productId = await api.create('/products/', sample.product)
    const userId = await api.create('/users/', sample.user)
    await isRefused(api, '/reviews/', sample.review(productId, userId), shapes.review, effort)
  })

  campaign('any invalid user gets a 422 that names exactly what is wrong, and creates nothing', async effort => {
    await isRefused(api, '/users/', sample.user, shapes.user, effort)
  })

  campaign('any invalid update of a category gets such a 422, and changes nothing', async effort => {
    const id = await api.create('/categories/', sample.category)
    await isRefusedAsUpdate(api, 'PUT', `/categories/${id}`, shapes.category, effort)
  })

  campaign('any invalid update of a product gets such a 422, and changes nothing', async effort => {
    const id = await api.create('/products/', sample.product)
    await isRefusedAsUpdate(api, 'PUT', `/products/${id}`, shapes.product, effort)
  })

  campaign('any invalid update of a review gets such a 422, and changes nothing', async effort => {
    const productId = await api.create('/products/', sample.product)
    const userId = await api.create('/users/', sample.user)
    const id = await api.create('/reviews/', sample.review(productId, userId))
    await isRefusedAsUpdate(api, 'PATCH', `/reviews/${id}`, shapes.review, effort)
  })

  campaign('any invalid update of a user gets such a 422, and changes nothing', async effort => {
    const id = await api.create('/users/', sample.user)
    await isRefusedAsUpdate(api, 'PATCH', `/users/${id}`, shapes.userUpdate, effort)
  })

  campaign('an invalid body is named together with a path that is not an integer, and after it', async effort => {
    const property = fc.asyncProperty(notAnInteger(), invalidBody(shapes.product), async ({ text, error }, body) => {
      const path = `/products/${encodeURIComponent(text)}/products`
      const answer = await api.send(path, { method: 'POST', body: body.json, headers: JSON_HEADERS })
      expect(answer.status).toBe(422)
      expect(answer.body).toEqual({ detail: [{ loc: ['path', 'category_id'], ...error }, ...body.detail] })
    })
    await fc.assert(property, effort.runs(RUNS))
  })

  campaign('JSON that is not an object is reported as such, and null counts as absent', async effort => {
    const other = fc.jsonValue().filter(value => typeof value !== 'object' || value === null || Array.isArray(value))
    const property = fc.asyncProperty(other, async value => {
      const answer = await api.post('/categories/', value)
      const error =
        value === null
          ? { loc: ['body'], msg: 'Field required', type: 'missing' }
          : {
              loc: ['body'],
              msg: 'Input should be a valid dictionary or object to extract fields from',
              type: 'model_attributes_type',
            }
      expect(answer.status).toBe(422)
      expect(answer.body).toEqual({ detail: [error] })
    })
    await fc.assert(property, effort.runs(RUNS))
  })
})

onEachEngine('parameters', api => {
  campaign(
    'any text in a path or a query is an integer only as a sign and digits; anything else is named, path before query',
    async effort => {
      const request = fc.record({
        path: fc.constantFrom(...PAGED_PATHS),
        ids: fc.tuple(pathText(), pathText()),
        skip: fc.option(queryText(), { nil: undefined }),
        limit: fc.option(queryText(), { nil: undefined }),
      })
      const property = fc.asyncProperty(request, async ({ path, ids, skip, limit }) => {
        const { url, errors } = filled(path, ids)
        const query: string[] = []
        for (const [name, given] of Object.entries({ skip, limit })) {
          if (given?.error) errors.push({ loc: ['query', name], ...given.error })
          if (given) query.push(`${name}=${encodeURIComponent(given.text)}`)
        }
        const answer = await api.get(`${url}?${query.join('&')}`)
        if (errors.length > 0) expect(answer).toMatchObject({ status: 422, body: { detail: errors } })
        else expect(answer.status).toBeOneOf([200, 404])
      })
      await fc.assert(property, effort.runs(2 * RUNS))
    },
  )

  campaign('any text in a path or a query is read by HEAD as it is by GET', async effort => {
    const request = fc.record({
      path: fc.constantFrom(...UNPAGED_PATHS),
      method: fc.constantFrom('GET', 'HEAD'),
      ids: fc.tuple(pathText(), pathText()),
    })
    const property = fc.asyncProperty(request, async ({ path, method, ids }) => {
      const { url, errors } = filled(path, ids)
      const answer = await api.send(url, { method })
      if (errors.length === 0) expect(answer.status).toBeOneOf([200, 404])
      else expect(answer).toMatchObject({ status: 422, body: method === 'HEAD' ? '' : { detail: errors } })
    })
    await fc.assert(property, effort.runs(RUNS))
  })
})

async function isRefused(api: Client, path: string, valid: object, shape: Shape, effort: Effort): Promise<void> {
  const lastId = await api.create(path, valid)
  const property = fc.asyncProperty(invalidBody(shape), async ({ json, detail }) => {
    const answer = await api.send(path, { method: 'POST', body: json, headers: JSON_HEADERS })
    expect(answer.body).toEqual({ detail })
    expect(answer.status).toBe(422)
    const after = await api.get(`${path}?after_id=${lastId}`)
    expect(after.body).toEqual([])
  })
  await fc.assert(property, effort.runs(RUNS))
}

async function isRefusedAsUpdate(
  api: Client,
  method: string,
  path: string,
  shape: Shape,
  effort: Effort,
): Promise<void> {
  const before = await api.get(path)
  expect(before.status).toBe(200)
  const property = fc.asyncProperty(invalidBody(shape), async ({ json, detail }) => {
    const answer = await api.send(path, { method, body: json, headers: JSON_HEADERS })
    expect(answer.body).toEqual({ detail })
    expect(answer.status).toBe(422)
    expect((await api.get(path)).body).toEqual(before.body)
  })
  await fc.assert(property, effort.runs(RUNS))
}

/** A path with texts as its parameters, and the errors the service must report. */
function filled(path: string, texts: readonly Spelling[]) {
  const errors: { loc: string[]; type: string; msg: string }[] = []
  const left = [...texts]
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const given = left.shift()
    if (given?.error) errors.push({ loc: ['path', name], ...given.error })
    return encodeURIComponent(given?.text ?? '')
  })
  return { url, errors }
}

function digits(): Arbitrary<string> {
  return fc.oneof(
    fc.maxSafeNat().map(String),
    fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 40 }),
  )
}

function pathText(): Arbitrary<Spelling> {
  const integer = fc.tuple(fc.constantFrom('', '', '+', '-'), digits()).map(([sign, size]) => sign + size)
  return fc.oneof(
    integer.map(text => ({ text, error: null })),
    notAnInteger(),
  )
}

function queryText(): Arbitrary<Spelling> {
  const natural = fc.tuple(fc.constantFrom('', '+'), digits()).map(([sign, size]) => sign + size)
  const belowZero = digits()
    .filter(text => /[1-9]/.test(text))
    .map(text => `-${text}`)
  const error = { type: 'greater_than_equal', msg: 'Input should be greater than or equal to 0' }
  return fc.oneof(
    fc.oneof(natural, fc.constantFrom('-0', '-00')).map(text => ({ text, error: null })),
    belowZero.map(text => ({ text, error })),
    fc.oneof(notAnInteger(), notAnInteger(fc.constant(''))),
  )
}

/** Text that is not an integer but often looks like one. A path drops `.` and `..` and cannot be empty. */
function notAnInteger(
  text: Arbitrary<string> = fc.oneof(
    fc.constantFrom('1.0', '1e3', '0x1', '1_000', ' 1', '1 ', '--1', '+', '-', '+-1', '١', '１', '1\n', '1,0', 'NaN'),
    fc.string({ unit: fc.constantFrom(...'0123456789+-._eE xX/%?#&=;'), minLength: 1 }),
    fc.string({ unit: 'binary', minLength: 1 }),
  ),
): Arbitrary<Spelling> {
  const error = { type: 'int_parsing', msg: 'Input should be a valid integer, unable to parse string as an integer' }
  return text
    .filter(candidate => !/^[+-]?[0-9]+$/.test(candidate) && candidate !== '.' && candidate !== '..')
    .map(candidate => ({ text: candidate, error }))
}
