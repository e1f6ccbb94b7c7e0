/** Fastify on Node, with the pool and the prepared (named) statements of node-postgres. */
import pg from 'pg'
import { serve } from './fastify.ts'
import { INSERT_PRODUCT, type PageRow, SELECT_PAGE, SELECT_PRODUCT_AS_JSON } from './statements.ts'

const CONNECTIONS = 20

pg.types.setTypeParser(pg.types.builtins.INT8, Number)
const pool = new pg.Pool({ connectionString: process.env.DATABASE, max: CONNECTIONS })

// The pool does not use the driver's pipelining; without the pool, pipelining was slower.
await serve('fastify-pg', {
  productAsJson: async id => {
    const { rows } = await pool.query<{ json: string }>({ name: 'product', text: SELECT_PRODUCT_AS_JSON, values: [id] })
    return rows[0]?.json
  },
  page: async (skip, limit) =>
    (await pool.query<PageRow>({ name: 'page', text: SELECT_PAGE, values: [skip, limit] })).rows,
  insert: async ({ name, description, price }) => {
    const { rows } = await pool.query<{ id: number }>({
      name: 'insert',
      text: INSERT_PRODUCT,
      values: [name, description, price],
    })
    if (!rows[0]) throw new Error('an inserted product has no id')
    return rows[0].id
  },
})
