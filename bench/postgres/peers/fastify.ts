/** The service on Fastify, for any database driver. */
import Fastify from 'fastify'
import {
  body,
  JSON_TYPE,
  type Page,
  type Path,
  type ProductCreate,
  params,
  querystring,
} from '../../catalog/peers/fastify-schemas.ts'
import { type PageRow, productsOf } from './statements.ts'

/** The queries of a driver, each in one round trip. */
export interface Queries {
  productAsJson: (id: number) => Promise<string | undefined>
  page: (skip: number, limit: number) => Promise<PageRow[]>
  insert: (product: ProductCreate) => Promise<number>
}

const NOT_FOUND = { detail: 'Product not found' }

export async function serve(name: string, queries: Queries): Promise<void> {
  const app = Fastify({ logger: false })

  app.setErrorHandler((error: Error & { validation?: unknown; statusCode?: number }, _request, reply) => {
    reply.code(error.validation ? 422 : (error.statusCode ?? 500)).send({ detail: error.message })
  })

  app.get<{ Querystring: Page }>('/products/', { schema: { querystring } }, async (request, reply) => {
    const { skip, limit } = request.query
    return reply.send(productsOf(await queries.page(skip, limit)))
  })

  app.get<{ Params: Path }>('/products/:id', { schema: { params } }, async (request, reply) => {
    const json = await queries.productAsJson(request.params.id)
    if (json === undefined) return reply.code(404).send(NOT_FOUND)
    return reply.type(JSON_TYPE).send(json)
  })

  app.post<{ Body: ProductCreate }>('/products/', { schema: { body } }, async (request, reply) => {
    const { name, description, price } = request.body
    const id = await queries.insert({ name, description, price })
    return reply.send({ id, name, description, price, reviews: [] })
  })

  const address = await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 0) })
  console.log(`${name} is ready on ${address}`)
}
