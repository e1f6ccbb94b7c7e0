/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import type { Scope } from '../../access/key.ts'
import { LOGIN_STYLES } from '../../login/login-page.tsx'
import { Layout } from '../../pages/layout.tsx'
import { staticPath } from '../../pages/static.ts'
import { HttpError } from '../../server/errors.ts'
import script from './pages.client.js' with { type: 'text' }
import pageStyles from './pages.css' with { type: 'text' }

/** The pages' own static files. */
export const PAGE_FILES = { 'pages.css': `${LOGIN_STYLES}\n${pageStyles}`, 'pages.js': script }

export const STYLES_PATH: string = staticPath('pages.css', PAGE_FILES['pages.css'])
export const SCRIPT_PATH: string = staticPath('pages.js', PAGE_FILES['pages.js'])

/** Who looks at a page, and what it offers. */
export interface Visitor {
  /** `null` if anyone on this machine may do anything. */
  readonly scope: Scope | null
  readonly hasEvents: boolean
}

export function usersNeedAdmin(): HttpError {
  return new HttpError(403, 'Users need a key with the scope admin')
}

/** A page that is shown in the frame. */
export interface Framed {
  readonly title: string
  /** The path of the current section. */
  readonly section: string
  readonly content: Child
}

/** Puts the frame around a page of the admin page. */
export function framedPage({ title, section, content }: Framed, { scope, hasEvents }: Visitor): string {
  const sections = [
    ['/admin/', 'Products'],
    ['/admin/categories/', 'Categories'],
    ['/admin/reviews/', 'Reviews'],
    ...(scope === null || scope === 'admin' ? [['/admin/users/', 'Users']] : []),
    ['/admin/import', 'Files'],
    ...(hasEvents ? [['/admin/activity', 'Activity']] : []),
  ]
  return `<!doctype html>${(
    <Layout title={`${title} · Store admin`} styles={[STYLES_PATH]} scripts={[SCRIPT_PATH]}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="/">
          Stockroom
        </a>
        <nav aria-label="Sections">
          {sections.map(([path, name]) => (
            <a href={path} {...(path === section && { 'aria-current': 'page' })}>
              {name}
            </a>
          ))}
        </nav>
        {scope !== null && (
          <form action="/admin/logout" method="post">
            <button type="submit" class="plain">
              Log out
            </button>
          </form>
        )}
      </header>
      <p id="connection" role="alert" hidden></p>
      <p id="told" class="visually-hidden" role="status"></p>
      <section id="pending" aria-label="Deletions under way"></section>
      <main id="content" tabindex={-1}>
        {content}
      </main>
    </Layout>
  )}`
}

/** A page outside the frame, with a few lines. */
export function notePage(title: string, children: Child, head?: Child): string {
  return `<!doctype html>${(
    <Layout title={`${title} · Stockroom`} styles={[STYLES_PATH]} head={head}>
      <main class="note">
        <h1>{title}</h1>
        {children}
      </main>
    </Layout>
  )}`
}

/** A message above the content. */
export function Notice({ kind = 'good', children }: { readonly kind?: 'good' | 'trouble'; readonly children?: Child }) {
  return (
    <p class={`notice ${kind}`} role={kind === 'good' ? 'status' : 'alert'}>
      {children}
    </p>
  )
}
