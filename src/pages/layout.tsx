/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { HTMX_PATHS, ICON_PATH, PAGE_STYLES_PATH } from './static.ts'

/** Headers of pages that load from their own origin only, and have neither inline scripts nor inline styles. */
export const STRICT_PAGE_HEADERS = headersWith()

/** Headers of pages that also have `style` attributes, because highlighted code needs them. */
export const PAGE_HEADERS = headersWith("style-src 'self'", "style-src-attr 'unsafe-inline'")

/** The same for pages that differ for each visitor or each time. */
export const UNCACHED_PAGE_HEADERS = { ...PAGE_HEADERS, 'Cache-Control': 'no-store' }

function headersWith(...styles: readonly string[]) {
  return {
    'Content-Security-Policy': [
      "default-src 'self'",
      ...styles,
      "img-src 'self' data:",
      "object-src 'none'",
      "base-uri 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
    ].join('; '),
    // With `no-referrer`, browsers would send `Origin: null` even with a form to the page's own server.
    'Referrer-Policy': 'same-origin',
  }
}

/** Keeps htmx within the policy above: no style elements, and no text evaluated as code. */
const HTMX_SETTINGS = {
  includeIndicatorStyles: false,
  allowEval: false,
  allowScriptTags: false,
  historyEnabled: false,
  defaultSettleDelay: 0,
  // The response to an invalid form is a 422 page with the reason.
  responseHandling: [
    { code: '204', swap: false },
    { code: '2..|422', swap: true },
    { code: '...', swap: false, error: true },
  ],
}

interface LayoutProperties {
  readonly title: string
  /** Paths of the page's own style sheets and scripts. */
  readonly styles?: readonly string[]
  readonly scripts?: readonly string[]
  /** Further elements for the head. */
  readonly head?: Child
  readonly children?: Child
}

/** The frame around the content of every page that uses htmx. */
export function Layout({ title, styles = [], scripts = [], head, children }: LayoutProperties) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="htmx-config" content={JSON.stringify(HTMX_SETTINGS)} />
        <title>{title}</title>
        <link rel="icon" href={ICON_PATH} type="image/svg+xml" />
        {[PAGE_STYLES_PATH, ...styles].map(href => (
          <link rel="stylesheet" href={href} />
        ))}
        {[...HTMX_PATHS, ...scripts].map(src => (
          <script src={src} defer></script>
        ))}
        {head}
      </head>
      <body>{children}</body>
    </html>
  )
}
