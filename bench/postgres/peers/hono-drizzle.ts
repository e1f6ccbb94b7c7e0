/**
 * Hono on Bun, with Drizzle's prepared relational queries over Bun.SQL. Over postgres.js or node-postgres, on Bun or Node,
 * they took more CPU time.
 */
import { asc, eq, placeholder, relations, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sql'
import { bigint, doublePrecision, pgTable, smallint, text } from 'drizzle-orm/pg-core'
import { Hono, type ValidationTargets } from 'hono'
import { validator } from 'hono/validator'
import { z } from 'zod'
import { EMBEDDED_MAX, LIMIT_DEFAULT } from '../../catalog/peers/statements.ts'

const CONNECTIONS = 20

const id = () => bigint('id', { mode: 'number' }).primaryKey().generatedByDefaultAsIdentity()

const products = pgTable('products', {
  id: id(),
  name: text('name').notNull(),
  description: text('description').notNull(),
  price: doublePrecision('price').notNull(),
})

const reviews = pgTable('reviews', {
  id: id(),
  product_id: bigint('product_id', { mode: 'number' }).notNull(),
  user_id: bigint('user_id', { mode: 'number' }).notNull(),
  rating: smallint('rating').notNull(),
  comment: text('comment').notNull(),
})

const schema = {
  products,
  reviews,
  ofProducts: relations(products, ({ many }) => ({ reviews: many(reviews) })),
  ofReviews: relations(reviews, ({ one }) => ({
    product: one(products, { fields: [reviews.product_id], references: [products.id] }),
  })),
}

const database = drizzle({ connection: { url: process.env.DATABASE ?? '', max: CONNECTIONS }, schema })

const withReviews = { reviews: { orderBy: asc(reviews.id), limit: EMBEDDED_MAX } } as const

const selectProduct = database.query.products
  .findFirst({ where: eq(products.id, placeholder('id')), with: withReviews })
  .prepare('product')

const selectPage = database.query.products
  .findMany({
    where: sql`${products.id} >= (SELECT id FROM products ORDER BY id LIMIT 1 OFFSET ${placeholder('skip')})`,
    orderBy: asc(products.id),
    limit: placeholder('limit'),
    with: withReviews,
  })
  .prepare('page')

const insertProduct = database
  .insert(products)
  .values({ name: placeholder('name'), description: placeholder('description'), price: placeholder('price') })
  .returning({ id: products.id })
  .prepare('insert')

const Path = z.object({ id: z.coerce.number().int() })
const Page = z.object({
  skip: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(0).default(LIMIT_DEFAULT),
})
const ProductCreate = z.object({ name: z.string().min(3).max(50), description: z.string(), price: z.number().gt(0) })

function valid<Target extends keyof ValidationTargets, Schema extends z.ZodType>(target: Target, shape: Schema) {
  return validator(target, (value, context) => {
    const parsed = shape.safeParse(value)
    return parsed.success ? parsed.data : context.json({ detail: parsed.error.message }, 422)
  })
}

const app = new Hono()
  .get('/products/', valid('query', Page), async context =>
    context.json(await selectPage.execute(context.req.valid('query'))),
  )
  .get('/products/:id', valid('param', Path), async context => {
    const product = await selectProduct.execute(context.req.valid('param'))
    return product ? context.json(product) : context.json({ detail: 'Product not found' }, 404)
  })
  .post('/products/', valid('json', ProductCreate), async context => {
    const { name, description, price } = context.req.valid('json')
    const [created] = await insertProduct.execute({ name, description, price })
    return context.json({ id: created?.id, name, description, price, reviews: [] })
  })

const server = Bun.serve({ hostname: '127.0.0.1', port: Number(process.env.PORT ?? 0), fetch: app.fetch })
console.log(`hono-drizzle is ready on http://127.0.0.1:${server.port}`)
