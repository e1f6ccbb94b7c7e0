import htmx from 'htmx.org/dist/htmx.min.js' with { type: 'text' }
import htmxSse from 'htmx-ext-sse/dist/sse.min.js' with { type: 'text' }
import { asset, versionedPath } from '../server/asset.ts'
import type { App } from '../server/requests.ts'
import icon from './icon.svg' with { type: 'text' }
import styles from './page.css' with { type: 'text' }

type StaticFileName = `${string}.${'js' | 'css' | 'svg'}`

/** File contents by file name, served under `/static/`. */
export type StaticFiles = Readonly<Record<StaticFileName, string>>

/** The files that all pages share. */
const SHARED: StaticFiles = { 'htmx.js': htmx, 'sse.js': htmxSse, 'page.css': styles, 'icon.svg': icon }

/** Their paths. */
export const HTMX_PATHS = [staticPath('htmx.js', htmx), staticPath('sse.js', htmxSse)]
export const PAGE_STYLES_PATH = staticPath('page.css', styles)
export const ICON_PATH = staticPath('icon.svg', icon)

/** Serves the shared files and the app's own under `/static`. */
export function addStaticFiles(app: App, files: StaticFiles): void {
  for (const [name, contents] of Object.entries({ ...SHARED, ...files })) {
    // The runtime knows the type by the ending; for some it adds the charset, as `asset` does for all.
    const [type = ''] = Bun.file(name).type.split(';')
    const answer = asset(contents, type)
    app.get(`/static/${name}`, context => answer(context.req.raw))
  }
}

/** The path of one of the app's own files. */
export function staticPath(name: StaticFileName, contents: string): string {
  return versionedPath(`/static/${name}`, contents)
}
