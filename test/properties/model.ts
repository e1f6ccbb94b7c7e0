/** A model of the store catalog: the answers that the specification determines. */
export interface Expected {
  readonly status: number
  readonly body: unknown
  /** The `Link` header. */
  readonly link: string | null
}

export interface CategoryFields {
  readonly name: string
  readonly description: string
}

export interface ProductFields extends CategoryFields {
  readonly price: number
}

export interface ReviewFields {
  readonly product_id: number
  readonly user_id: number
  readonly rating: number
  readonly comment: string
}

export interface UserFields extends Partial<Flags> {
  readonly name: string
  readonly email: string
  readonly avatar: string
  readonly password: string
}

type Flags = Record<keyof typeof DEFAULT_FLAGS, number>

export interface Page {
  readonly skip?: number | undefined
  readonly limit?: number | undefined
  readonly after_id?: number | undefined
}

/** Returns the id of what the service created; called only if it must have created something. */
export type NewId = () => number

interface StoredProduct extends ProductFields {
  readonly categoryId: number | null
}

interface StoredUser extends Flags, Omit<UserFields, keyof Flags | 'password'> {}

const DEFAULT_FLAGS = {
  is_active: 1,
  is_admin: 0,
  is_banned: 0,
  is_blocked: 0,
  is_deleted: 0,
  is_suspended: 0,
  is_verified: 0,
}

export const PASSWORD_MASK = '**********'

const DEFAULT_LIMIT = 100
const EMBEDDED_MAX = 100

/** The store catalog as four maps: the service's answers are compared with it. */
export class Model {
  readonly categories = new Shelf<CategoryFields>()
  readonly products = new Shelf<StoredProduct>()
  readonly users = new Shelf<StoredUser>()
  readonly reviews = new Shelf<ReviewFields>()

  createCategory(newId: NewId, fields: CategoryFields): Expected {
    return this.readCategory(this.categories.add(newId(), fields))
  }

  readCategory(id: number): Expected {
    const category = this.categories.get(id)
    return category ? found(this.#category(id, category)) : absent('Category')
  }

  updateCategory(id: number, fields: CategoryFields): Expected {
    if (this.categories.get(id)) this.categories.put(id, fields)
    return this.readCategory(id)
  }

  deleteCategory(id: number): Expected {
    const before = this.readCategory(id)
    this.categories.remove(id)
    for (const [productId, product] of this.products.entries()) {
      if (product.categoryId === id) this.products.put(productId, { ...product, categoryId: null })
    }
    return before
  }

  listCategories(page: Page): Expected {
    const items = this.categories.entries().map(([id, category]) => this.#category(id, category))
    return listed('/categories/', items, page)
  }

  createProduct(newId: NewId, fields: ProductFields): Expected {
    return this.readProduct(this.products.add(newId(), { ...fields, categoryId: null }))
  }

  createProductIn(categoryId: number, newId: NewId, fields: ProductFields): Expected {
    if (!this.categories.get(categoryId)) return absent('Category')
    return this.readProduct(this.products.add(newId(), { ...fields, categoryId }))
  }

  readProduct(id: number): Expected {
    const product = this.products.get(id)
    return product ? found(this.#product(id, product)) : absent('Product')
  }

  updateProduct(id: number, fields: ProductFields): Expected {
    const product = this.products.get(id)
    if (product) this.products.put(id, { ...fields, categoryId: product.categoryId })
    return this.readProduct(id)
  }

  deleteProduct(id: number): Expected {
    const before = this.readProduct(id)
    this.products.remove(id)
    this.#removeReviews(review => review.product_id === id)
    return before
  }

  listProducts(page: Page): Expected {
    const items = this.products.entries().map(([id, product]) => this.#product(id, product))
    return listed('/products/', items, page)
  }

  listProductsIn(categoryId: number): Expected {
    if (!this.categories.get(categoryId)) return absent('Category')
    const inside = this.products.entries().filter(([, product]) => product.categoryId === categoryId)
    return found(inside.map(([id, product]) => this.#product(id, product)))
  }

  createUser(newId: NewId, { password: _, ...fields }: UserFields): Expected {
    return this.readUser(this.users.add(newId(), { ...DEFAULT_FLAGS, ...fields }))
  }

  readUser(id: number): Expected {
    const user = this.users.get(id)
    return user ? found(this.#user(id, user)) : absent('User')
  }

  /** Omitted flags keep their values. */
  updateUser(id: number, { password: _, ...fields }: UserFields): Expected {
    const user = this.users.get(id)
    if (user) this.users.put(id, { ...user, ...fields })
    return this.readUser(id)
  }

  deleteUser(id: number): Expected {
    const before = this.readUser(id)
    this.users.remove(id)
    this.#removeReviews(review => review.user_id === id)
    return before
  }

  listUsers(page: Page): Expected {
    const items = this.users.entries().map(([id, user]) => this.#user(id, user))
    return listed('/users/', items, page)
  }

  createReview(newId: NewId, fields: ReviewFields): Expected {
    const missing = this.#absentOwner(fields.product_id, fields.user_id)
    return missing ?? this.readReview(this.reviews.add(newId(), fields))
  }

  readReview(id: number): Expected {
    const review = this.reviews.get(id)
    return review ? found(this.#review(id, review)) : absent('Review')
  }

  updateReview(id: number, fields: ReviewFields): Expected {
    if (!this.reviews.get(id)) return absent('Review')
    const missing = this.#absentOwner(fields.product_id, fields.user_id)
    if (missing) return missing
    this.reviews.put(id, fields)
    return this.readReview(id)
  }

  deleteReview(id: number): Expected {
    const before = this.readReview(id)
    this.reviews.remove(id)
    return before
  }

  /** All reviews, or those of a product, of a user, or of both. */
  listReviews(of: { productId?: number; userId?: number }, page: Page): Expected {
    const missing = this.#absentOwner(of.productId, of.userId)
    if (missing) return missing
    const chosen = this.reviews
      .entries()
      .filter(([, review]) => of.productId === undefined || review.product_id === of.productId)
      .filter(([, review]) => of.userId === undefined || review.user_id === of.userId)
    const products = of.productId === undefined ? '' : `products/${of.productId}`
    const users = of.userId === undefined ? '' : `users/${of.userId}`
    const path = `/reviews/${[products, users].filter(part => part !== '').join('/')}`
    return listed(
      path,
      chosen.map(([id, review]) => this.#review(id, review)),
      page,
    )
  }

  /** If both are absent, the product is named. */
  #absentOwner(productId: number | undefined, userId: number | undefined): Expected | null {
    if (productId !== undefined && !this.products.get(productId)) return absent('Product')
    if (userId !== undefined && !this.users.get(userId)) return absent('User')
    return null
  }

  #removeReviews(condition: (review: ReviewFields) => boolean): void {
    for (const [id, review] of this.reviews.entries()) if (condition(review)) this.reviews.remove(id)
  }

  #category(id: number, category: CategoryFields) {
    const inside = this.products.entries().filter(([, product]) => product.categoryId === id)
    const products = inside.map(([productId, product]) => embeddedProduct(productId, product))
    return { id, ...category, products: products.slice(0, EMBEDDED_MAX) }
  }

  #product(id: number, product: StoredProduct) {
    return { ...embeddedProduct(id, product), reviews: this.#embeddedReviews(review => review.product_id === id) }
  }

  #user(id: number, user: StoredUser) {
    const reviews = this.#embeddedReviews(review => review.user_id === id)
    return { id, ...user, password: PASSWORD_MASK, reviews }
  }

  #review(id: number, review: ReviewFields) {
    const product = this.products.get(review.product_id)
    const user = this.users.get(review.user_id)
    if (!product || !user) throw new Error(`the model lost what review ${id} is about`)
    return {
      id,
      ...review,
      user: { id: review.user_id, name: user.name, avatar: user.avatar },
      product: embeddedProduct(review.product_id, product),
    }
  }

  #embeddedReviews(condition: (review: ReviewFields) => boolean) {
    const chosen = this.reviews.entries().filter(([, review]) => condition(review))
    return chosen.map(([id, review]) => ({ id, ...review })).slice(0, EMBEDDED_MAX)
  }
}

/** Items by id, in ascending order, because ids are given once and in order. */
export class Shelf<Item> {
  readonly #items = new Map<number, Item>()
  readonly #givenIds: number[] = []

  /** All ids ever given, including those of deleted items. */
  get givenIds(): readonly number[] {
    return this.#givenIds
  }

  get ids(): readonly number[] {
    return [...this.#items.keys()]
  }

  add(id: number, item: Item): number {
    const last = this.#givenIds.at(-1) ?? 0
    if (!(id > last)) throw new Error(`the new id ${id} is not above ${last}, which was given before`)
    this.#givenIds.push(id)
    this.#items.set(id, item)
    return id
  }

  get(id: number): Item | undefined {
    return this.#items.get(id)
  }

  put(id: number, item: Item): void {
    this.#items.set(id, item)
  }

  remove(id: number): void {
    this.#items.delete(id)
  }

  entries(): [number, Item][] {
    return [...this.#items]
  }
}

function embeddedProduct(id: number, { name, description, price }: ProductFields) {
  return { id, name, description, price }
}

function found(body: unknown): Expected {
  return { status: 200, body, link: null }
}

function absent(resource: string): Expected {
  return { status: 404, body: { detail: `${resource} not found` }, link: null }
}

/** A page of a list. A cut page has a next link; an empty one has none. */
function listed(path: string, items: readonly { id: number }[], page: Page): Expected {
  const { skip = 0, limit = DEFAULT_LIMIT, after_id = 0 } = page
  const rest = items.filter(({ id }) => id > after_id).slice(skip)
  const body = rest.slice(0, limit)
  const last = body.at(-1)
  const start = page.after_id === undefined ? `skip=${skip + limit}` : `after_id=${last?.id}`
  const link = last && rest.length > limit ? `<${path}?${start}&limit=${limit}>; rel="next"` : null
  return { status: 200, body, link }
}
