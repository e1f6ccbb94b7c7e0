import { Hono } from 'hono'
import type { Client } from 'stockroom/client'
import { formLimit } from '../pages/form.ts'
import { STRICT_PAGE_HEADERS } from '../pages/layout.tsx'
import { addStaticFiles } from '../pages/static.ts'
import { finishApp } from '../server/app.ts'
import { HttpError } from '../server/errors.ts'
import { queryOf } from '../server/request-target.ts'
import type { App } from '../server/requests.ts'
import { routing } from '../server/routing.ts'
import { FORWARDED, forwardTo } from './forwarding.ts'
import type { Opened } from './opening.ts'
import { missingPage, productPage, shopPage } from './pages.tsx'
import { picture } from './pictures.ts'
import { FILES } from './static-files.ts'
import type { Traffic } from './traffic.ts'

const MONTH_SECONDS = 2_592_000

/** Much more than `true` or `false`. */
const SWITCH_MAX_BYTES = 64

const PICTURE_HEADERS = {
  'Content-Type': 'image/svg+xml',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
  'Cache-Control': `public, max-age=${MONTH_SECONDS}, immutable`,
}

export interface DemoOptions {
  /** Address of the catalog service. */
  readonly catalog: string
  readonly shop: Client
  readonly opened: Opened
  readonly traffic: Pick<Traffic, 'isBusy'>
}

/** The demo shop, and on the same port the service that it shows. It opens no port. */
export function createDemo({ catalog, shop, opened, traffic }: DemoOptions): App {
  const app: App = new Hono(routing())
  app.get('/', async context => {
    const categories = await shop.categories.list({ limit: 50, fields: ['id', 'name'] })
    const asked = new URLSearchParams(queryOf(context.req.raw.url))
    const page = shopPage({ categories: categories.items, asked })
    return context.html(page, 200, STRICT_PAGE_HEADERS)
  })
  app.get('/shop/:id', async context => {
    const id = Number(context.req.param('id'))
    const product = await found(shop.products.get(id, { fields: ['id', 'name', 'description', 'price', 'rating'] }))
    if (!product) return context.html(missingPage(), 404, STRICT_PAGE_HEADERS)
    const origin = `http://${context.req.header('Host') ?? ''}`
    const page = productPage({ product, visitor: opened.visitor, origin })
    return context.html(page, 200, STRICT_PAGE_HEADERS)
  })
  app.get('/pictures/:id', context => {
    const id = Number.parseInt(context.req.param('id'), 10)
    return new Response(picture(id, context.req.query('name') ?? ''), { headers: PICTURE_HEADERS })
  })
  app.get('/busy', context => context.json(traffic.isBusy))
  // PUT, which no form of another origin can send.
  app.put('/busy', formLimit(SWITCH_MAX_BYTES), async context => {
    const body: unknown = await context.req.json().catch(() => null)
    if (typeof body !== 'boolean') throw new HttpError(422, 'The body must be true or false')
    traffic.isBusy = body
    return context.json(traffic.isBusy)
  })
  for (const path of FORWARDED) app.all(path, forwardTo(catalog))
  addStaticFiles(app, FILES)
  finishApp(app)
  return app
}

/** Resolves to the resource; `null` if it does not exist, or if its id is not valid. */
async function found<Item>(answer: Promise<Item>): Promise<Item | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Error && 'status' in error && (error.status === 404 || error.status === 422)) return null
    throw error
  }
}
