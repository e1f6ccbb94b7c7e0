/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { sharedPath } from './static.ts'

/**
 * What a page may do: load from its own origin alone and run no inline script. Styles on elements are allowed, since
 * highlighted code has its colours there.
 */
export const PAGE_HEADERS = {
  'Content-Security-Policy': [
    "default-src 'self'",
    "style-src 'self'",
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  // Not `no-referrer`, which makes browsers say `Origin: null` even when a page's form is sent to its own server.
  'Referrer-Policy': 'same-origin',
}

/** htmx as the pages use it: it adds no style element and evaluates no text, which the policy would forbid. */
const HTMX_SETTINGS = {
  includeIndicatorStyles: false,
  allowEval: false,
  allowScriptTags: false,
  historyEnabled: false,
  defaultSettleDelay: 0,
  // A form that is refused with 422 comes back as a page that says why.
  responseHandling: [
    { code: '204', swap: false },
    { code: '2..|422', swap: true },
    { code: '...', swap: false, error: true },
  ],
}

interface LayoutProperties {
  readonly title: string
  /** Paths of style sheets and scripts, beside those of every page. */
  readonly styles?: readonly string[]
  readonly scripts?: readonly string[]
  /** More for the head. */
  readonly head?: Child
  readonly children?: Child
}

/** The frame of every page. */
export function Layout({ title, styles = [], scripts = [], head, children }: LayoutProperties) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="htmx-config" content={JSON.stringify(HTMX_SETTINGS)} />
        <title>{title}</title>
        <link rel="icon" href={sharedPath('icon.svg')} type="image/svg+xml" />
        {[sharedPath('page.css'), ...styles].map(href => (
          <link rel="stylesheet" href={href} />
        ))}
        {[sharedPath('htmx.js'), sharedPath('sse.js'), ...scripts].map(src => (
          <script src={src} defer></script>
        ))}
        {head}
      </head>
      <body>{children}</body>
    </html>
  )
}
