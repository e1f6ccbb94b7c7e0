import { expect } from 'bun:test'
import fc, { type Arbitrary, type AsyncCommand } from 'fast-check'
import { z } from 'zod'
import { alike } from '../harness/alike.ts'
import { campaign, type Effort } from '../harness/campaign.ts'
import { type Answer, type Client, client } from '../harness/client.ts'
import { QUICK_HASHES, WITHOUT_CACHE } from '../harness/contract.ts'
import { ENGINES, type Engine } from '../harness/engines.ts'
import { startService } from '../harness/service.ts'
import { type Expected, Model, type NewId, PASSWORD_MASK, type Page, type Shelf } from './model.ts'

const RUNS = 3
const STEPS_MAX = 60

/** An id that is never given. */
const UNKNOWN_ID = Number.MAX_SAFE_INTEGER - 1

/** More than a sequence can create. */
const ALL = { limit: 1_000 }

type Step = AsyncCommand<Model, Client>

/** Stands for an item that exists when its step runs, for a deleted one, or for none. */
type Choice = number

const WithId = z.object({ id: z.int() })

const label = fc.string({ minLength: 3, maxLength: 50 })
const choice: Arbitrary<Choice> = fc.nat({ max: 1_000 })
const flag = fc.integer({ min: -2, max: 2 })

const categoryFields = fc.record({ name: label, description: label })
const price = fc.double({ min: 0, minExcluded: true, max: 1e6, noNaN: true })
const productFields = fc.record({ name: label, description: fc.string(), price })
const reviewFields = fc.record({ rating: fc.integer({ min: 1, max: 5 }), comment: fc.string() })
const userFields = fc.record(
  {
    name: label,
    email: label,
    avatar: fc.string(),
    password: fc.string(),
    is_active: flag,
    is_admin: flag,
    is_banned: flag,
    is_blocked: flag,
    is_deleted: flag,
    is_suspended: flag,
    is_verified: flag,
  },
  { requiredKeys: ['name', 'email', 'avatar', 'password'] },
)

/** By skip or by cursor: the specification does not say what both together mean. */
const page = fc
  .tuple(
    fc.constantFrom('skip', 'after'),
    fc.nat({ max: 6 }),
    choice,
    fc.option(fc.nat({ max: 6 }), { nil: undefined }),
  )
  .map(([by, skip, after, limit]) => ({ limit, ...(by === 'skip' ? { skip } : { after }) }))

/** The operations of the specification's tables. Those that long sequences need more often are listed twice. */
const steps: Arbitrary<Step>[] = [
  ...twice(
    step('create category', { fields: categoryFields }, async (model, api, { fields }) => {
      const answer = await api.post('/categories/', fields)
      isEqual(answer, model.createCategory(idOf(answer), fields))
    }),
  ),
  step('read category', { choice }, async (model, api, chosen) => {
    const id = pick(model.categories, chosen.choice)
    isEqual(await api.get(`/categories/${id}`), model.readCategory(id))
  }),
  step('update category', { choice, fields: categoryFields }, async (model, api, { fields, ...chosen }) => {
    const id = pick(model.categories, chosen.choice)
    isEqual(await api.put(`/categories/${id}`, fields), model.updateCategory(id, fields))
  }),
  step('delete category', { choice }, async (model, api, chosen) => {
    const id = pick(model.categories, chosen.choice)
    isEqual(await api.delete(`/categories/${id}`), model.deleteCategory(id))
  }),
  step('list categories', { page }, async (model, api, chosen) => {
    const part = pageOf(model.categories, chosen.page)
    isEqual(await api.get(`/categories/${queryOf(part)}`), model.listCategories(part))
  }),

  step('create product', { fields: productFields }, async (model, api, { fields }) => {
    const answer = await api.post('/products/', fields)
    isEqual(answer, model.createProduct(idOf(answer), fields))
  }),
  ...twice(
    step('create product in category', { choice, fields: productFields }, async (model, api, { fields, ...chosen }) => {
      const id = pick(model.categories, chosen.choice)
      const answer = await api.post(`/products/${id}/products`, fields)
      isEqual(answer, model.createProductIn(id, idOf(answer), fields))
    }),
  ),
  step('read product', { choice }, async (model, api, chosen) => {
    const id = pick(model.products, chosen.choice)
    isEqual(await api.get(`/products/${id}`), model.readProduct(id))
  }),
  step('update product', { choice, fields: productFields }, async (model, api, { fields, ...chosen }) => {
    const id = pick(model.products, chosen.choice)
    isEqual(await api.put(`/products/${id}`, fields), model.updateProduct(id, fields))
  }),
  step('delete product', { choice }, async (model, api, chosen) => {
    const id = pick(model.products, chosen.choice)
    isEqual(await api.delete(`/products/${id}`), model.deleteProduct(id))
  }),
  step('list products', { page }, async (model, api, chosen) => {
    const part = pageOf(model.products, chosen.page)
    isEqual(await api.get(`/products/${queryOf(part)}`), model.listProducts(part))
  }),
  step('list products in category', { choice }, async (model, api, chosen) => {
    const id = pick(model.categories, chosen.choice)
    isEqual(await api.get(`/products/${id}/products`), model.listProductsIn(id))
  }),

  step('create user', { fields: userFields }, async (model, api, { fields }) => {
    const answer = await api.post('/users/', fields)
    isEqual(answer, model.createUser(idOf(answer), fields))
  }),
  step('read user', { choice }, async (model, api, chosen) => {
    const id = pick(model.users, chosen.choice)
    isEqual(await api.get(`/users/${id}`), model.readUser(id))
  }),
  step('update user', { choice, fields: userFields }, async (model, api, { fields, ...chosen }) => {
    const id = pick(model.users, chosen.choice)
    isEqual(await api.patch(`/users/${id}`, fields), model.updateUser(id, fields))
  }),
  step(
    'update user, written back masked',
    { choice, fields: userFields },
    async (model, api, { fields, ...chosen }) => {
      const id = pick(model.users, chosen.choice)
      const masked = { ...fields, password: PASSWORD_MASK }
      isEqual(await api.patch(`/users/${id}`, masked), model.updateUser(id, masked))
    },
  ),
  step('delete user', { choice }, async (model, api, chosen) => {
    const id = pick(model.users, chosen.choice)
    isEqual(await api.delete(`/users/${id}`), model.deleteUser(id))
  }),
  step('list users', { page }, async (model, api, chosen) => {
    const part = pageOf(model.users, chosen.page)
    isEqual(await api.get(`/users/${queryOf(part)}`), model.listUsers(part))
  }),

  ...twice(
    step('create review', { product: choice, user: choice, fields: reviewFields }, async (model, api, chosen) => {
      const owners = { product_id: pick(model.products, chosen.product), user_id: pick(model.users, chosen.user) }
      const body = { ...owners, ...chosen.fields }
      const answer = await api.post('/reviews/', body)
      isEqual(answer, model.createReview(idOf(answer), body))
    }),
  ),
  step('read review', { choice }, async (model, api, chosen) => {
    const id = pick(model.reviews, chosen.choice)
    isEqual(await api.get(`/reviews/${id}`), model.readReview(id))
  }),
  step(
    'update review',
    { choice, product: choice, user: choice, fields: reviewFields },
    async (model, api, { fields, ...chosen }) => {
      const id = pick(model.reviews, chosen.choice)
      const owners = { product_id: pick(model.products, chosen.product), user_id: pick(model.users, chosen.user) }
      isEqual(
        await api.patch(`/reviews/${id}`, { ...owners, ...fields }),
        model.updateReview(id, { ...owners, ...fields }),
      )
    },
  ),
  step('delete review', { choice }, async (model, api, chosen) => {
    const id = pick(model.reviews, chosen.choice)
    isEqual(await api.delete(`/reviews/${id}`), model.deleteReview(id))
  }),
  step('list reviews', { page }, async (model, api, chosen) => {
    const part = pageOf(model.reviews, chosen.page)
    isEqual(await api.get(`/reviews/${queryOf(part)}`), model.listReviews({}, part))
  }),
  step('list reviews of product', { choice, page }, async (model, api, chosen) => {
    const productId = pick(model.products, chosen.choice)
    const part = pageOf(model.reviews, chosen.page)
    isEqual(await api.get(`/reviews/products/${productId}${queryOf(part)}`), model.listReviews({ productId }, part))
  }),
  step('list reviews of user', { choice, page }, async (model, api, chosen) => {
    const userId = pick(model.users, chosen.choice)
    const part = pageOf(model.reviews, chosen.page)
    isEqual(await api.get(`/reviews/users/${userId}${queryOf(part)}`), model.listReviews({ userId }, part))
  }),
  step('list reviews of product and user', { product: choice, user: choice, page }, async (model, api, chosen) => {
    const productId = pick(model.products, chosen.product)
    const userId = pick(model.users, chosen.user)
    const part = pageOf(model.reviews, chosen.page)
    const path = `/reviews/products/${productId}/users/${userId}`
    isEqual(await api.get(path + queryOf(part)), model.listReviews({ productId, userId }, part))
  }),
]

campaign(
  'all engines, with a cache and without, answer any sequence of operations as a plain model in memory does, and alike to the last header',
  async effort => {
    await using open = new AsyncDisposableStack()
    const start = async (engine: Engine, flags: readonly string[]) => {
      const database = open.use(await engine.freshDatabase())
      const service = open.use(
        await startService(database.url, { flags: ['--access-log', 'off', ...flags], environment: QUICK_HASHES }),
      )
      return client(() => service.address)
    }
    const clients = await Promise.all(ENGINES.flatMap(engine => [start(engine, []), start(engine, WITHOUT_CACHE)]))
    expect(clients.length).toBeGreaterThan(1)
    await runSequences(alike(clients), effort)
  },
)

async function runSequences(api: Client, effort: Effort): Promise<void> {
  const sequences = fc.commands(steps, { maxCommands: STEPS_MAX, size: 'max' })
  const property = fc.asyncProperty(sequences, async sequence => {
    await deleteAll(api)
    const model = new Model()
    await fc.asyncModelRun(() => ({ model, real: api }), sequence)
    isEqual(await api.get(`/categories/${queryOf(ALL)}`), model.listCategories(ALL))
    isEqual(await api.get(`/products/${queryOf(ALL)}`), model.listProducts(ALL))
    isEqual(await api.get(`/reviews/${queryOf(ALL)}`), model.listReviews({}, ALL))
    isEqual(await api.get(`/users/${queryOf(ALL)}`), model.listUsers(ALL))
  })
  await fc.assert(property, effort.runs(RUNS))
}

/** A step that any state allows: missing items are requested too. */
function step<Chosen>(
  name: string,
  choices: { [Key in keyof Chosen]: Arbitrary<Chosen[Key]> },
  run: (model: Model, api: Client, chosen: Chosen) => Promise<void>,
): Arbitrary<Step> {
  return fc.record<Chosen>(choices).map(chosen => ({
    check: () => true,
    run: (model, api) => run(model, api, chosen),
    toString: () => `${name} ${fc.stringify(chosen)}`,
  }))
}

function twice(arbitrary: Arbitrary<Step>): Arbitrary<Step>[] {
  return [arbitrary, arbitrary]
}

function isEqual(answer: Answer, expected: Expected): void {
  const { status, body, headers } = answer
  expect<Expected>({ status, body, link: headers.get('Link') }).toEqual(expected)
}

function idOf(answer: Answer): NewId {
  return () => {
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return WithId.parse(answer.body).id
  }
}

/** Mostly existing items. */
function pick(shelf: Shelf<unknown>, chosen: Choice): number {
  const { ids, givenIds } = shelf
  const candidates = [...ids, ...ids, ...ids, ...givenIds, UNKNOWN_ID]
  return candidates[chosen % candidates.length] ?? UNKNOWN_ID
}

function pageOf(
  shelf: Shelf<unknown>,
  { after, ...rest }: { skip?: number; after?: Choice; limit: number | undefined },
): Page {
  return { ...rest, ...(after !== undefined && { after_id: pick(shelf, after) }) }
}

function queryOf(page: Page): string {
  const given = Object.entries(page).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
  return given.length === 0 ? '' : `?${given.join('&')}`
}

/** Each sequence starts with an empty catalog, so a failing one can be shortened. */
async function deleteAll(api: Client): Promise<void> {
  for (const path of ['/reviews/', '/products/', '/users/', '/categories/']) {
    const items = z.array(WithId).parse((await api.get(path + queryOf(ALL))).body)
    for (const { id } of items) expect((await api.delete(path + id)).status).toBe(200)
    expect((await api.get(path)).body).toEqual([])
  }
}
