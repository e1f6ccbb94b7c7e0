/** Fastify on Node, with postgres.js, which prepares and pipelines statements by itself. */
import postgres from 'postgres'
import { serve } from './fastify.ts'
import { INSERT_PRODUCT, type PageRow, SELECT_PAGE, SELECT_PRODUCT_AS_JSON } from './statements.ts'

const CONNECTIONS = 20
const BIGINT = 20

const sql = postgres(process.env.DATABASE ?? '', {
  max: CONNECTIONS,
  fetch_types: false,
  types: { bigint: { to: BIGINT, from: [BIGINT], serialize: String, parse: Number } },
})
const prepare = { prepare: true }

await serve('fastify-postgres-js', {
  productAsJson: async id => {
    const [row] = await sql.unsafe<{ json: string }[]>(SELECT_PRODUCT_AS_JSON, [id], prepare)
    return row?.json
  },
  page: (skip, limit) => sql.unsafe<PageRow[]>(SELECT_PAGE, [skip, limit], prepare),
  insert: async ({ name, description, price }) => {
    const [row] = await sql.unsafe<{ id: number }[]>(INSERT_PRODUCT, [name, description, price], prepare)
    if (!row) throw new Error('an inserted product has no id')
    return row.id
  },
})
