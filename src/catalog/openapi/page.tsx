/** @jsxImportSource hono/jsx */
/** The page that shows the interface description and lets one try it. */
export function docsPage(): string {
  const page = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Store API</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/docs/swagger-ui.css" />
        <link rel="stylesheet" href="/docs/narrow.css" />
      </head>
      <body>
        <div id="docs"></div>
        <script src="/docs/swagger-ui.js"></script>
        <script src="/docs/start.js"></script>
      </body>
    </html>
  )
  return `<!doctype html>${page}`
}

/** A file of its own, because the page allows no inline script. */
export const START_SCRIPT = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
})
`

/** On a phone the path has the line for itself; the operation's id is in its address when it is open. */
export const NARROW_STYLES = `@media (max-width: 640px) {
  .swagger-ui .wrapper { padding: 0 12px }
  .swagger-ui .opblock .opblock-summary-path { max-width: none; word-break: normal }
  .swagger-ui .opblock .opblock-summary-description,
  .swagger-ui .opblock .opblock-summary-operation-id { display: none }
  .swagger-ui .opblock .opblock-summary-method { min-width: 64px }
  .swagger-ui .response-col_links { display: none }
}
`
