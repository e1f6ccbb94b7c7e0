import type { Catalog } from '../operation.ts'

/** The interface description as JSON: OpenAPI 3.1.0 with all operations that were added so far. */
export function interfaceDescription(app: Catalog['app']): string {
  const { openapi, info, paths, components } = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Store API',
      version: '0.1.0',
      description: 'The backend behind a storefront: categories, products, users and reviews.',
    },
  })
  return JSON.stringify({ openapi, info, paths, components: { schemas: components?.schemas ?? {} } })
}
