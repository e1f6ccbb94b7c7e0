import { type OpenAPIHono, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { RequestScope } from '../server/requests.ts'
import { withinBodies } from './large-bodies.ts'
import type { ResourceName } from './storage/resource.ts'
import { HTTPValidationError, type ValidationError } from './validation/errors.ts'
import { type Input, readRequest } from './validation/request.ts'

export type Catalog = OpenAPIHono<{ Bindings: RequestScope }>
export type CatalogContext = Context<{ Bindings: RequestScope }>

/** One operation's contract: it validates requests, types the handler, and is what `/openapi.json` shows. */
export interface Contract<Path extends z.ZodObject, Query extends z.ZodObject, Body extends z.ZodType> {
  readonly operationId: string
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** As the specification writes it, with `{name}` for a parameter and the final slash of a collection. */
  readonly url: string
  readonly tag: string
  readonly summary: string
  readonly path: Path
  readonly query: Query
  /** Query parameters that are understood and validated, but not in the interface description. */
  readonly undescribed?: readonly (keyof Query['shape'] & string)[]
  readonly body: Body
  /** The body of a 200. */
  readonly answer: z.ZodType
  /** Which resources a 404 can name. */
  readonly absent: readonly ResourceName[]
}

export const noParameters = z.object({})

/** Adds the operation to the service and to its description. The handler gets a request that fulfils the contract. */
export function operation<Path extends z.ZodObject, Query extends z.ZodObject, Body extends z.ZodType>(
  catalog: Catalog,
  contract: Contract<Path, Query, Body>,
  handler: (input: Input<Path, Query, Body>, context: CatalogContext) => Promise<Response>,
): void {
  describe(catalog, contract)
  const hasBody = !(contract.body instanceof z.ZodUndefined)
  catalog.on(contract.method, honoPath(contract.url), async context => {
    const read = await readRequest(contract, context.req.param(), context.req.raw)
    if ('errors' in read) return invalid(read.errors)
    const answer = () => handler(read.value, context)
    return hasBody ? withinBodies(context.req.raw, answer) : answer()
  })
}

function invalid(detail: readonly ValidationError[]): Response {
  return new Response(JSON.stringify({ detail }), { status: 422, headers: { 'Content-Type': 'application/json' } })
}

function honoPath(url: string): string {
  return url.replaceAll(/\{(\w+)\}/g, ':$1')
}

function describe<Path extends z.ZodObject, Query extends z.ZodObject, Body extends z.ZodType>(
  catalog: Catalog,
  contract: Contract<Path, Query, Body>,
): void {
  const undescribed: readonly string[] = contract.undescribed ?? []
  const query = Object.entries<z.ZodType>(contract.query.shape).filter(([name]) => !undescribed.includes(name))
  const missing = contract.absent.map(resource => `${resource} not found`).join(', or ')
  catalog.openAPIRegistry.registerPath({
    operationId: contract.operationId,
    method: contract.method,
    path: contract.url,
    tags: [contract.tag],
    summary: contract.summary,
    request: {
      params: contract.path,
      query: z.object(Object.fromEntries(query)),
      ...(contract.body instanceof z.ZodObject && {
        body: { required: true, content: { 'application/json': { schema: contract.body } } },
      }),
    },
    responses: {
      200: { description: 'Successful Response', content: { 'application/json': { schema: contract.answer } } },
      ...(missing !== '' && {
        404: {
          description: missing,
          content: { 'application/json': { schema: z.object({ detail: z.string() }) } },
        },
      }),
      422: { description: 'Validation Error', content: { 'application/json': { schema: HTTPValidationError } } },
    },
  })
}
