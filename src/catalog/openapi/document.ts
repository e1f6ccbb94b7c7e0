import { OpenAPIHono, type RouteConfig, z } from '@hono/zod-openapi'
import { type Access, needOf } from '../http/guard.ts'
import type { AnyContract } from '../http/operation.ts'
import { HTTPValidationError } from '../http/validation/errors.ts'
import { STRICTER } from '../http/validation/stricter.ts'

/** The only query parameters that the specified interface description has. */
const SPECIFIED = ['skip', 'limit']

const ACCESS_KEY = { type: 'http', scheme: 'bearer', description: 'A key of `stockroom key create`' }

/** `/openapi.json`: OpenAPI 3.1.0 with these operations, exactly as the specification has them. */
export function interfaceDescription(contracts: readonly AnyContract[], access: Access | null): string {
  const specified = contracts.filter(({ isFurther }) => !isFurther)
  const { openapi, info, paths, components } = openApi(specified.map(contract => specifiedOperation(contract, access)))
  const description = {
    openapi,
    info,
    paths,
    components: { schemas: components?.schemas ?? {}, ...securitySchemesOf(access) },
  }
  return JSON.stringify(description, (key, value) => (key === STRICTER ? undefined : value))
}

/** The members of the document that both descriptions share. */
export function openApi(operations: readonly RouteConfig[]) {
  const described = new OpenAPIHono()
  for (const operation of operations) described.openAPIRegistry.registerPath(operation)
  return described.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Store API',
      version: '0.1.0',
      description: 'The backend behind a storefront: categories, products, users and reviews.',
    },
  })
}

function specifiedOperation(contract: AnyContract, access: Access | null) {
  const { path, body, specifiedBody = body, response, absent } = contract
  const parameters = Object.entries<z.ZodType>(contract.query().shape).filter(([name]) => SPECIFIED.includes(name))
  const required = securityOf(contract, access)
  const missing = absent.map(resource => `${resource} not found`).join(', or ')
  return {
    ...identity(contract, required),
    request: {
      params: path,
      query: z.object(Object.fromEntries(parameters)),
      ...(specifiedBody instanceof z.ZodObject && {
        body: { required: true, content: { 'application/json': { schema: specifiedBody } } },
      }),
    },
    responses: {
      200: { description: 'Successful Response', content: { 'application/json': { schema: response } } },
      ...(required && { 401: failure(required.unauthorized) }),
      ...(required?.forbidden && { 403: failure(required.forbidden) }),
      ...(missing !== '' && { 404: failure(missing) }),
      422: { description: 'Validation Error', content: { 'application/json': { schema: HTTPValidationError } } },
    },
  }
}

/** The members of an operation that both descriptions share. */
export function identity(contract: AnyContract, required: ReturnType<typeof securityOf>) {
  const { name, method, url, tag } = contract
  return {
    operationId: operationId(contract),
    method,
    path: url,
    tags: [tag],
    summary: name.replaceAll('_', ' ').replaceAll(/\b[a-z]/g, letter => letter.toUpperCase()),
    ...(required && { security: required.security }),
  }
}

/** The member of the components that describes access keys. */
export function securitySchemesOf(access: Access | null) {
  return { ...(access && { securitySchemes: { AccessKey: ACCESS_KEY } }) }
}

/** The key that an operation requires; nothing if nobody needs one. */
export function securityOf({ url, method }: AnyContract, access: Access | null) {
  if (!access) return null
  const { scope, isPublic } = needOf(url, method.toUpperCase(), access)
  return {
    // Not the scope, because linters accept scopes of OAuth 2 only.
    security: [...(isPublic ? [{}] : []), { AccessKey: [] }],
    unauthorized: isPublic ? 'The access key is not valid' : `This requires an access key of the scope ${scope}`,
    needed: isPublic ? null : `It requires an access key of the scope \`${scope}\`.`,
    // Every key is enough for a read.
    forbidden: scope === 'read' ? null : `This requires an access key of the scope ${scope}`,
  }
}

/** As FastAPI makes it: `read_products_products__get` of `read_products`, `/products/` and `get`. */
function operationId({ name, method, url }: AnyContract): string {
  return `${`${name}${url}`.replaceAll(/\W/g, '_')}_${method}`
}

function failure(description: string) {
  return { description, content: { 'application/json': { schema: z.object({ detail: z.string() }) } } }
}
