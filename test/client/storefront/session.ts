import createClient from 'openapi-fetch'
import type { components, paths } from './store-api.ts'

type Category = components['schemas']['Category']
type Product = components['schemas']['Product']

/** A customer's view of the shop, step by step. */
export interface Session {
  readonly categories: readonly string[]
  readonly shelf: readonly string[]
  readonly pages: readonly (readonly string[])[]
  readonly customer: { readonly name: string; readonly password: string; readonly is_active: number | undefined }
  readonly review: { readonly rating: number; readonly by: string; readonly of: string }
  readonly reviewsOfProduct: readonly string[]
  readonly reviewsByCustomer: readonly string[]
  readonly changedReview: { readonly rating: number; readonly comment: string }
  readonly refusal: readonly (readonly [where: string, why: string])[]
  readonly missing: string
  readonly removed: { readonly name: string; readonly reviews: number }
  readonly reviewAfterwards: string
}

const PAGE_ITEMS = 2

/** A visit to the store, from the first look to deleting the account, using only the generated client, perhaps with a key. */
export async function visitStore(address: string, key?: string): Promise<Session> {
  const headers = key === undefined ? {} : { Authorization: `Bearer ${key}` }
  const store = createClient<paths>({ baseUrl: address, headers })

  const garden = await stockShelf('Garden', ['Spade', 'Rake', 'Watering can'])
  const kitchen = await stockShelf('Kitchen', ['Kettle'])

  const categories = taken(await store.GET('/categories/', { params: { query: { limit: 10 } } }))
  const shelf = taken(
    await store.GET('/products/{category_id}/products', { params: { path: { category_id: garden.id } } }),
  )

  const pages: Product[][] = []
  for (let skip = 0; ; skip += PAGE_ITEMS) {
    const page = taken(await store.GET('/products/', { params: { query: { skip, limit: PAGE_ITEMS } } }))
    if (page.length === 0) break
    pages.push(page)
  }

  const customer = taken(
    await store.POST('/users/', {
      body: { name: 'Ada Byron', email: 'ada@mail.example', avatar: '/ada.png', password: 'a secret of mine' },
    }),
  )
  const spade = firstOf(shelf)
  const review = taken(
    await store.POST('/reviews/', {
      body: { product_id: spade.id, user_id: customer.id, rating: 4, comment: 'Digs well' },
    }),
  )
  const read = taken(await store.GET('/reviews/{review_id}', { params: { path: { review_id: review.id } } }))
  const reviewed = taken(await store.GET('/products/{product_id}', { params: { path: { product_id: spade.id } } }))
  const written = taken(
    await store.GET('/reviews/products/{product_id}/users/{user_id}', {
      params: { path: { product_id: spade.id, user_id: customer.id } },
    }),
  )
  const changed = taken(
    await store.PATCH('/reviews/{review_id}', {
      params: { path: { review_id: review.id } },
      body: { product_id: spade.id, user_id: customer.id, rating: 5, comment: 'Digs very well' },
    }),
  )

  const refused = await store.POST('/reviews/', {
    body: { product_id: spade.id, user_id: customer.id, rating: 6, comment: 'More than enough' },
  })
  const missing = await store.GET('/products/{product_id}', { params: { path: { product_id: 1_000_000 } } })

  const removed = taken(await store.DELETE('/users/{user_id}', { params: { path: { user_id: customer.id } } }))
  const afterwards = await store.GET('/reviews/{review_id}', { params: { path: { review_id: review.id } } })
  for (const { id } of [garden, kitchen]) {
    taken(await store.DELETE('/categories/{category_id}', { params: { path: { category_id: id } } }))
  }

  return {
    categories: categories.map(category => `${category.name}: ${namesOf(category.products ?? [])}`),
    shelf: shelf.map(({ name, price }) => `${name} ${price.toFixed(2)} USD`),
    pages: pages.map(page => page.map(({ name }) => name)),
    customer: { name: customer.name, password: customer.password, is_active: customer.is_active },
    review: { rating: read.rating, by: read.user.name, of: read.product.name },
    reviewsOfProduct: (reviewed.reviews ?? []).map(({ comment }) => comment),
    reviewsByCustomer: written.map(({ comment }) => comment),
    changedReview: { rating: changed.rating, comment: changed.comment },
    refusal: refusalOf(refused),
    missing: absenceOf(missing),
    removed: { name: removed.name, reviews: removed.reviews?.length ?? 0 },
    reviewAfterwards: absenceOf(afterwards),
  }

  async function stockShelf(name: string, products: readonly string[]): Promise<Category> {
    const category = taken(await store.POST('/categories/', { body: { name, description: `All for the ${name}` } }))
    for (const [index, product] of products.entries()) {
      taken(
        await store.POST('/products/{category_id}/products', {
          params: { path: { category_id: category.id } },
          body: { name: product, description: `One of ${products.length}`, price: 9.5 + index },
        }),
      )
    }
    return category
  }
}

/** The body of a request that must succeed. */
function taken<Data>({ data, response }: { data?: Data; response: Response }): Data {
  if (data === undefined) throw unexpected(response)
  return data
}

type Detail = components['schemas']['HTTPValidationError']['detail'] | string

/** The places and reasons of the refusal of a request that must fail. */
function refusalOf({ error, response }: { error?: { detail: Detail }; response: Response }): [string, string][] {
  if (response.status !== 422 || error === undefined || typeof error.detail === 'string') throw unexpected(response)
  return error.detail.map(({ loc, msg }) => [loc.join('.'), msg])
}

/** The message of a request that must find nothing. */
function absenceOf({ error, response }: { error?: { detail: Detail }; response: Response }): string {
  if (response.status !== 404 || typeof error?.detail !== 'string') throw unexpected(response)
  return error.detail
}

function unexpected({ url, status }: Response): Error {
  return new Error(`${url} answered ${status}`)
}

function firstOf<Item>(items: readonly Item[]): Item {
  const [first] = items
  if (first === undefined) throw new Error('there is nothing to choose from')
  return first
}

function namesOf(items: readonly { name: string }[]): string {
  return items.map(({ name }) => name).join(', ')
}

if (import.meta.main) process.stdout.write(JSON.stringify(await visitStore(process.argv[2] ?? '', process.argv[3])))
