/** Fastify with its own schemas to validate requests, on Node's own SQLite. */
import { DatabaseSync } from 'node:sqlite'
import Fastify from 'fastify'
import { body, JSON_TYPE, type Page, type Path, type ProductCreate, params, querystring } from './fastify-schemas.ts'
import * as sql from './statements.ts'
import { createdReview, embedProducts, embedReviews, embedUserAndProduct } from './statements.ts'

const database = new DatabaseSync(process.env.DATABASE ?? '')
for (const pragma of sql.PRAGMAS) database.exec(pragma)

type ProductColumns = [id: number, name: string, description: string, price: number]
type ReviewColumns = [id: number, productId: number, userId: number, rating: number, comment: string]
type CategoryColumns = [id: number, name: string, description: string]
type CategorizedColumns = [id: number, categoryId: number, name: string, description: string, price: number]
type UserColumns = [id: number, name: string, avatar: string]
type ReviewWithUserColumns = [id: number, userId: number, rating: number, comment: string, name: string, avatar: string]

const selectProduct = prepare<ProductColumns>(sql.SELECT_PRODUCT)
const selectProductAsJson = prepare<[json: string]>(sql.SELECT_PRODUCT_AS_JSON)
const selectProducts = prepare<ProductColumns>(sql.SELECT_PRODUCTS)
const selectReviewsOfPage = prepare<ReviewColumns>(sql.SELECT_REVIEWS_OF_PAGE)
const selectReviewsWithUsers = prepare<ReviewWithUserColumns>(sql.SELECT_REVIEWS_WITH_USERS)
const selectReviewAsJson = prepare<[json: string]>(sql.SELECT_REVIEW_AS_JSON)
const selectCategoryAsJson = prepare<[json: string]>(sql.SELECT_CATEGORY_AS_JSON)
const selectCategories = prepare<CategoryColumns>(sql.SELECT_CATEGORIES)
const selectProductsOfPage = prepare<CategorizedColumns>(sql.SELECT_PRODUCTS_OF_PAGE)
const selectUser = prepare<UserColumns>(sql.SELECT_USER)
const insertReview = database.prepare(sql.INSERT_REVIEW)
const insertProduct = database.prepare(sql.INSERT_PRODUCT)
const updateProduct = database.prepare(sql.UPDATE_PRODUCT)

/** Rows as arrays: node:sqlite's row objects have no prototype and took twice as long to create and serialize. */
function prepare<Columns>(text: string) {
  const statement = database.prepare(text)
  statement.setReturnArrays(true)
  return {
    get: (...parameters: number[]) => {
      const row: unknown = statement.get(...parameters)
      return row as Columns | undefined
    },
    all: (...parameters: number[]) => {
      const rows: unknown = statement.all(...parameters)
      return rows as Columns[]
    },
  }
}

function productRow([id, name, description, price]: ProductColumns): sql.ProductRow {
  return { id, name, description, price }
}

function reviewRow([id, product_id, user_id, rating, comment]: ReviewColumns): sql.ReviewRow {
  return { id, product_id, user_id, rating, comment }
}

function reviewWithUserRow([id, user_id, rating, comment, name, avatar]: ReviewWithUserColumns): sql.ReviewWithUserRow {
  return { id, user_id, rating, comment, user_name: name, user_avatar: avatar }
}

function categoryRow([id, name, description]: CategoryColumns): sql.CategoryRow {
  return { id, name, description }
}

function categorizedProductRow([
  id,
  category_id,
  name,
  description,
  price,
]: CategorizedColumns): sql.CategorizedProductRow {
  return { id, category_id, name, description, price }
}

function userRow([id, name, avatar]: UserColumns): sql.UserRow {
  return { id, name, avatar }
}

const reviewBody = {
  type: 'object',
  required: ['product_id', 'user_id', 'rating', 'comment'],
  properties: {
    product_id: { type: 'integer' },
    user_id: { type: 'integer' },
    rating: { type: 'integer', minimum: 1, maximum: 5 },
    comment: { type: 'string' },
  },
}
const NOT_FOUND = { detail: 'Not found' }

const app = Fastify({ logger: false })

app.setErrorHandler((error: Error & { validation?: unknown; statusCode?: number }, _request, reply) => {
  reply.code(error.validation ? 422 : (error.statusCode ?? 500)).send({ detail: error.message })
})

app.get<{ Querystring: Page }>('/products/', { schema: { querystring } }, (request, reply) => {
  const { skip, limit } = request.query
  const products = selectProducts.all(skip, limit).map(productRow)
  const first = products[0]
  const last = products.at(-1)
  const reviews = first && last ? selectReviewsOfPage.all(first.id, last.id).map(reviewRow) : []
  reply.send(embedReviews(products, reviews))
})

app.get<{ Params: Path }>('/products/:id', { schema: { params } }, (request, reply) => {
  const row = selectProductAsJson.get(request.params.id)
  if (!row) return reply.code(404).send(NOT_FOUND)
  reply.type(JSON_TYPE).send(row[0])
})

app.get<{ Params: Path; Querystring: Page }>(
  '/reviews/products/:id',
  { schema: { params, querystring } },
  (request, reply) => {
    const { skip, limit } = request.query
    const row = selectProduct.get(request.params.id)
    if (!row) return reply.code(404).send(NOT_FOUND)
    const product = productRow(row)
    const reviews = selectReviewsWithUsers.all(product.id, limit, skip).map(reviewWithUserRow)
    reply.send(embedUserAndProduct(reviews, product))
  },
)

app.post<{ Body: ProductCreate }>('/products/', { schema: { body } }, (request, reply) => {
  const { name, description, price } = request.body
  const { lastInsertRowid } = insertProduct.run(name, description, price)
  reply.send({ id: Number(lastInsertRowid), name, description, price, reviews: [] })
})

app.put<{ Params: Path; Body: ProductCreate }>('/products/:id', { schema: { params, body } }, (request, reply) => {
  const { id } = request.params
  const { name, description, price } = request.body
  updateProduct.run(name, description, price, id)
  const row = selectProductAsJson.get(id)
  if (!row) return reply.code(404).send(NOT_FOUND)
  reply.type(JSON_TYPE).send(row[0])
})

app.get<{ Params: Path }>('/reviews/:id', { schema: { params } }, (request, reply) => {
  const row = selectReviewAsJson.get(request.params.id)
  if (!row) return reply.code(404).send(NOT_FOUND)
  reply.type(JSON_TYPE).send(row[0])
})

app.post<{ Body: sql.ReviewCreate }>('/reviews/', { schema: { body: reviewBody } }, (request, reply) => {
  const { product_id, user_id, rating, comment } = request.body
  const product = selectProduct.get(product_id)
  const user = selectUser.get(user_id)
  if (!product || !user) return reply.code(404).send(NOT_FOUND)
  const { lastInsertRowid } = insertReview.run(product_id, user_id, rating, comment)
  reply.send(createdReview(Number(lastInsertRowid), request.body, userRow(user), productRow(product)))
})

app.get<{ Querystring: Page }>('/categories/', { schema: { querystring } }, (request, reply) => {
  const { skip, limit } = request.query
  const categories = selectCategories.all(skip, limit).map(categoryRow)
  const first = categories[0]
  const last = categories.at(-1)
  const products = first && last ? selectProductsOfPage.all(first.id, last.id).map(categorizedProductRow) : []
  reply.send(embedProducts(categories, products))
})

app.get<{ Params: Path }>('/categories/:id', { schema: { params } }, (request, reply) => {
  const row = selectCategoryAsJson.get(request.params.id)
  if (!row) return reply.code(404).send(NOT_FOUND)
  reply.type(JSON_TYPE).send(row[0])
})

const address = await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 0) })
console.log(`fastify-node-sqlite is ready on ${address}`)
