/** Express with the driver that most of its users choose, and Zod to validate requests. */
import type { AddressInfo } from 'node:net'
import Database from 'better-sqlite3'
import express, { type NextFunction, type Request, type Response } from 'express'
import { z } from 'zod'
import * as sql from './statements.ts'
import { createdReview, embedProducts, embedReviews, embedUserAndProduct } from './statements.ts'

const database = new Database(process.env.DATABASE ?? '')
for (const pragma of sql.PRAGMAS) database.exec(pragma)

const selectProduct = database.prepare<[number], sql.ProductRow>(sql.SELECT_PRODUCT)
const selectProductAsJson = database.prepare<[number], string>(sql.SELECT_PRODUCT_AS_JSON).pluck()
const selectProducts = database.prepare<[number, number], sql.ProductRow>(sql.SELECT_PRODUCTS)
const selectReviewsOfPage = database.prepare<[number, number], sql.ReviewRow>(sql.SELECT_REVIEWS_OF_PAGE)
const selectReviewsWithUsers = database.prepare<[number, number, number], sql.ReviewWithUserRow>(
  sql.SELECT_REVIEWS_WITH_USERS,
)
const selectReviewAsJson = database.prepare<[number], string>(sql.SELECT_REVIEW_AS_JSON).pluck()
const selectCategoryAsJson = database.prepare<[number], string>(sql.SELECT_CATEGORY_AS_JSON).pluck()
const selectCategories = database.prepare<[number, number], sql.CategoryRow>(sql.SELECT_CATEGORIES)
const selectProductsOfPage = database.prepare<[number, number], sql.CategorizedProductRow>(sql.SELECT_PRODUCTS_OF_PAGE)
const selectUser = database.prepare<[number], sql.UserRow>(sql.SELECT_USER)
const insertReview = database.prepare<[number, number, number, string]>(sql.INSERT_REVIEW)
const insertProduct = database.prepare<[string, string, number]>(sql.INSERT_PRODUCT)
const updateProduct = database.prepare<[string, string, number, number]>(sql.UPDATE_PRODUCT)

const ProductCreate = z.object({
  name: z.string().min(3).max(50),
  description: z.string(),
  price: z.number().positive(),
})
const ReviewCreate = z.object({
  product_id: z.number().int(),
  user_id: z.number().int(),
  rating: z.number().int().min(1).max(5),
  comment: z.string(),
})
const Path = z.object({ id: z.coerce.number().int() })
const Page = z.object({
  skip: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(0).default(sql.LIMIT_DEFAULT),
})

const app = express()
app.disable('x-powered-by')
// ETags cost a hash of every response, and no client here sends conditional requests.
app.disable('etag')
const json = express.json({ limit: '1mb' })

app.get('/products/', (request, response) => {
  const { skip, limit } = Page.parse(request.query)
  const products = selectProducts.all(skip, limit)
  const first = products[0]
  const last = products.at(-1)
  response.json(embedReviews(products, first && last ? selectReviewsOfPage.all(first.id, last.id) : []))
})

app.get('/products/:id', (request, response) => {
  const product = selectProductAsJson.get(Path.parse(request.params).id)
  if (!product) return notFound(response)
  response.type('json').send(product)
})

app.get('/reviews/products/:id', (request, response) => {
  const { id } = Path.parse(request.params)
  const { skip, limit } = Page.parse(request.query)
  const product = selectProduct.get(id)
  if (!product) return notFound(response)
  response.json(embedUserAndProduct(selectReviewsWithUsers.all(id, limit, skip), product))
})

app.post('/products/', json, (request, response) => {
  const { name, description, price } = ProductCreate.parse(request.body)
  const { lastInsertRowid } = insertProduct.run(name, description, price)
  response.json({ id: Number(lastInsertRowid), name, description, price, reviews: [] })
})

app.put('/products/:id', json, (request, response) => {
  const { id } = Path.parse(request.params)
  const { name, description, price } = ProductCreate.parse(request.body)
  updateProduct.run(name, description, price, id)
  const product = selectProductAsJson.get(id)
  if (!product) return notFound(response)
  response.type('json').send(product)
})

app.get('/reviews/:id', (request, response) => {
  const review = selectReviewAsJson.get(Path.parse(request.params).id)
  if (!review) return notFound(response)
  response.type('json').send(review)
})

app.post('/reviews/', json, (request, response) => {
  const created = ReviewCreate.parse(request.body)
  const product = selectProduct.get(created.product_id)
  const user = selectUser.get(created.user_id)
  if (!product || !user) return notFound(response)
  const { lastInsertRowid } = insertReview.run(product.id, user.id, created.rating, created.comment)
  response.json(createdReview(Number(lastInsertRowid), created, user, product))
})

app.get('/categories/', (request, response) => {
  const { skip, limit } = Page.parse(request.query)
  const categories = selectCategories.all(skip, limit)
  const first = categories[0]
  const last = categories.at(-1)
  response.json(embedProducts(categories, first && last ? selectProductsOfPage.all(first.id, last.id) : []))
})

app.get('/categories/:id', (request, response) => {
  const category = selectCategoryAsJson.get(Path.parse(request.params).id)
  if (!category) return notFound(response)
  response.type('json').send(category)
})

app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
  if (error instanceof z.ZodError) response.status(422).json({ detail: error.issues })
  else response.status(500).json({ detail: 'Internal Server Error' })
})

function notFound(response: Response) {
  response.status(404).json({ detail: 'Not found' })
}

const server = app.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(`express-better-sqlite3 is ready on http://127.0.0.1:${port}`)
})
