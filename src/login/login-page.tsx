/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { Layout } from '../pages/layout.tsx'
import styles from './login.css' with { type: 'text' }
import type { ProtectedPages } from './protected-pages.ts'

/** The rules for the log-in page, for the style sheet of the pages behind it. */
export const LOGIN_STYLES: string = styles

interface LoginPage {
  /** The kind of credential that users log in with. */
  readonly credential: string
  /** The page to go to after the log-in. */
  readonly next: string
  /** The reason for the log-in page, if the user did not ask for it. */
  readonly notice?: string
  /** The reason why the attempt failed. */
  readonly refusal?: string
  /** A text that was sent without a session. It returns to its form after the log-in. */
  readonly typed?: string
}

/** It needs no scripts. */
export function loginPage(pages: ProtectedPages, { credential, next, notice, refusal, typed = '' }: LoginPage): string {
  const { loginPath, heading, keptForm } = pages
  return page(
    'Log in',
    pages,
    <form class="login" action={loginPath} method="post">
      <h1>{heading}</h1>
      {notice && <p role="status">{notice}</p>}
      <input type="hidden" name="next" value={next} />
      {keptForm && typed !== '' && <textarea name={keptForm.field} hidden>{`\n${typed}`}</textarea>}
      <label for="password">{credential[0]?.toUpperCase() + credential.slice(1)}</label>
      <input
        id="password"
        name="password"
        type="password"
        autocomplete="current-password"
        required
        autofocus
        {...(refusal && { 'aria-invalid': 'true', 'aria-describedby': 'refusal' })}
      />
      {refusal && (
        <p id="refusal" role="alert">
          {refusal}
        </p>
      )}
      <button type="submit">Log in</button>
    </form>,
  )
}

/**
 * Loads the page again. A browser that follows a link of another site sends no cookie with `SameSite=Strict`. It sends the
 * cookie when this page loads the next one.
 */
export function reloadingPage(pages: ProtectedPages, next: string): string {
  return page(
    pages.title,
    pages,
    <p class="notice">
      <a href={next}>To the {pages.realm}</a>
    </p>,
    <meta http-equiv="refresh" content={`0; url=${next}`} />,
  )
}

function page(title: string, { stylesheet }: ProtectedPages, content: Child, head?: Child): string {
  return `<!doctype html>${(
    <Layout title={title} styles={[stylesheet]} head={head}>
      <main class="door">{content}</main>
    </Layout>
  )}`
}
