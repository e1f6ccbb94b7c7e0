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
