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
  '/docs/page.css': asset(styles, 'text/css'),
  '/docs/start.js': asset(script, 'text/javascript'),
}

/** The descriptions that the page can show, by the value of its parameter `description`. */
const DESCRIPTIONS = [
  { value: null, path: '/openapi.json', name: 'Specified', about: 'the 25 operations, as the specification has them' },
  {
    value: 'strict',
    path: '/openapi.strict.json',
    name: 'Complete',
    about: 'every operation, parameter, rule and status',
  },
] as const

/** The page that shows an interface description and lets readers try it. */
export function page(description: string | undefined): string {
  const shown = DESCRIPTIONS.find(({ value }) => value === description) ?? DESCRIPTIONS[0]
  return `<!doctype html>${(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Store API</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/docs/swagger-ui.css" />
        <link rel="stylesheet" href="/docs/page.css" />
      </head>
      <body>
        <nav aria-label="Description">
          {DESCRIPTIONS.map(({ value, name, about }) => (
            <a
              href={value === null ? '/docs' : `/docs?description=${value}`}
              aria-current={value === shown.value ? 'page' : undefined}
            >
              <b>{name}</b> <span>{about}</span>
            </a>
          ))}
        </nav>
        <div id="docs" data-description={shown.path}></div>
        <noscript>
          <p>
            This page needs JavaScript to draw the description. The description itself is{' '}
            <a href={shown.path}>{shown.path.slice(1)}</a>.
          </p>
        </noscript>
        <script src="/docs/swagger-ui.js"></script>
        <script src="/docs/start.js"></script>
      </body>
    </html>
  )}`
}
