/** @jsxImportSource hono/jsx */
import swaggerStyles from 'swagger-ui-dist/swagger-ui.css' with { type: 'text' }
import swaggerScript from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'text' }
import { asset } from '../../server/asset.ts'
import script from './docs.client.js' with { type: 'text' }
import styles from './docs.css' with { type: 'text' }

/** The files of the page, by their paths. */
export const ASSETS = {
  '/docs/swagger-ui.js': asset(swaggerScript, 'text/javascript'),
  '/docs/swagger-ui.css': asset(swaggerStyles, 'text/css'),
  '/docs/narrow.css': asset(styles, 'text/css'),
  '/docs/start.js': asset(script, 'text/javascript'),
}

/** The page that shows the interface description and lets readers try it. */
export const PAGE = `<!doctype html>${(
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
)}`
