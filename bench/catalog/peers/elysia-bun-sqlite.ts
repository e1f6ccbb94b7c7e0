/** Elysia with its own schemas, on Bun's own SQLite. */
import { Database } from 'bun:sqlite'
import { Elysia, status, t } from 'elysia'
import * as sql from './statements.ts'
import { createdReview, embedProducts, embedReviews, embedUserAndProduct } from './statements.ts'

const database = new Database(process.env.DATABASE ?? '')
for (const pragma of sql.PRAGMAS) database.run(pragma)

const selectProduct = database.prepare<sql.ProductRow, [number]>(sql.SELECT_PRODUCT)
const selectProductAsJson = database.prepare<{ json: string }, [number]>(sql.SELECT_PRODUCT_AS_JSON)
const selectProducts = database.prepare<sql.ProductRow, [number, number]>(sql.SELECT_PRODUCTS)
const selectReviewsOfPage = database.prepare<sql.ReviewRow, [number, number]>(sql.SELECT_REVIEWS_OF_PAGE)
const selectReviewsWithUsers = database.prepare<sql.ReviewWithUserRow, [number, number, number]>(
  sql.SELECT_REVIEWS_WITH_USERS,
)
const selectReviewAsJson = database.prepare<{ json: string }, [number]>(sql.SELECT_REVIEW_AS_JSON)
const selectCategoryAsJson = database.prepare<{ json: string }, [number]>(sql.SELECT_CATEGORY_AS_JSON)
const selectCategories = database.prepare<sql.CategoryRow, [number, number]>(sql.SELECT_CATEGORIES)
const selectProductsOfPage = database.prepare<sql.CategorizedProductRow, [number, number]>(sql.SELECT_PRODUCTS_OF_PAGE)
const selectUser = database.prepare<sql.UserRow, [number]>(sql.SELECT_USER)
const insertReview = database.prepare<never, [number, number, number, string]>(sql.INSERT_REVIEW)
const insertProduct = database.prepare<never, [string, string, number]>(sql.INSERT_PRODUCT)
const updateProduct = database.prepare<never, [string, string, number, number]>(sql.UPDATE_PRODUCT)

// No response schemas: Elysia checks each response against them at run time, which cost a third of the rate of `list`.
const body = t.Object({
  name: t.String({ minLength: 3, maxLength: 50 }),
  description: t.String(),
  price: t.Number({ exclusiveMinimum: 0 }),
})
const reviewBody = t.Object({
  product_id: t.Integer(),
  user_id: t.Integer(),
  rating: t.Integer({ minimum: 1, maximum: 5 }),
  comment: t.String(),
})
const params = t.Object({ id: t.Integer() })
const query = t.Object({
  skip: t.Integer({ minimum: 0, default: 0 }),
  limit: t.Integer({ minimum: 0, default: sql.LIMIT_DEFAULT }),
})
const JSON_TYPE = { headers: { 'content-type': 'application/json' } }
const notFound = () => status(404, { detail: 'Not found' })

// Elysia recommends `precompile` for benchmarks.
const app = new Elysia({ precompile: true })
  .get(
    '/products/',
    ({ query: { skip, limit } }) => {
      const products = selectProducts.all(skip, limit)
      const first = products[0]
      const last = products.at(-1)
      return embedReviews(products, first && last ? selectReviewsOfPage.all(first.id, last.id) : [])
    },
    { query },
  )
  .get(
    '/products/:id',
    ({ params: { id } }) => {
      const row = selectProductAsJson.get(id)
      return row ? new Response(row.json, JSON_TYPE) : notFound()
    },
    { params },
  )
  .get(
    '/reviews/products/:id',
    ({ params: { id }, query: { skip, limit } }) => {
      const product = selectProduct.get(id)
      return product ? embedUserAndProduct(selectReviewsWithUsers.all(id, limit, skip), product) : notFound()
    },
    { params, query },
  )
  .post(
    '/products/',
    ({ body: { name, description, price } }) => {
      const { lastInsertRowid } = insertProduct.run(name, description, price)
      return { id: Number(lastInsertRowid), name, description, price, reviews: [] }
    },
    { body },
  )
  .put(
    '/products/:id',
    ({ params: { id }, body: { name, description, price } }) => {
      updateProduct.run(name, description, price, id)
      const row = selectProductAsJson.get(id)
      return row ? new Response(row.json, JSON_TYPE) : notFound()
    },
    { params, body },
  )
  .get(
    '/reviews/:id',
    ({ params: { id } }) => {
      const row = selectReviewAsJson.get(id)
      return row ? new Response(row.json, JSON_TYPE) : notFound()
    },
    { params },
  )
  .post(
    '/reviews/',
    ({ body }) => {
      const product = selectProduct.get(body.product_id)
      const user = selectUser.get(body.user_id)
      if (!product || !user) return notFound()
      const { lastInsertRowid } = insertReview.run(product.id, user.id, body.rating, body.comment)
      return createdReview(Number(lastInsertRowid), body, user, product)
    },
    { body: reviewBody },
  )
  .get(
    '/categories/',
    ({ query: { skip, limit } }) => {
      const categories = selectCategories.all(skip, limit)
      const first = categories[0]
      const last = categories.at(-1)
      return embedProducts(categories, first && last ? selectProductsOfPage.all(first.id, last.id) : [])
    },
    { query },
  )
  .get(
    '/categories/:id',
    ({ params: { id } }) => {
      const row = selectCategoryAsJson.get(id)
      return row ? new Response(row.json, JSON_TYPE) : notFound()
    },
    { params },
  )
  .listen({ hostname: '127.0.0.1', port: Number(process.env.PORT ?? 0) })

console.log(`elysia-bun-sqlite is ready on http://127.0.0.1:${app.server?.port}`)
