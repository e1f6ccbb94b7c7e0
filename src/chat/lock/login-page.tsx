/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { Layout } from '../../pages/layout.tsx'
import { staticPath } from '../../pages/static.ts'
import styles from '../chat.css' with { type: 'text' }

export interface LoginPage {
  /** The kind of credential that users log in with. */
  readonly credential: string
  /** The page to go to after the log-in. */
  readonly next: string
  /** The reason for the log-in page, if the user did not ask for it. */
  readonly notice?: string
  /** The reason why the attempt failed. */
  readonly refusal?: string
  /** A prompt that was sent without a session. It returns to its form after the log-in. */
  readonly typed?: string
}

/** It needs no scripts. */
export function loginPage({ credential, next, notice, refusal, typed = '' }: LoginPage): string {
  return page(
    'Log in',
    <form class="login" action="/login" method="post">
      <h1>Log in to the chat</h1>
      {notice && <p role="status">{notice}</p>}
      <input type="hidden" name="next" value={next} />
      {typed !== '' && <textarea name="user_prompt" hidden>{`\n${typed}`}</textarea>}
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
export function reloadingPage(next: string): string {
  return page(
    'Chat',
    <p class="notice">
      <a href={next}>To the chat</a>
    </p>,
    <meta http-equiv="refresh" content={`0; url=${next}`} />,
  )
}

function page(title: string, content: Child, head?: Child): string {
  return `<!doctype html>${(
    <Layout title={title} styles={[staticPath('chat.css', styles)]} head={head}>
      <main class="door">{content}</main>
    </Layout>
  )}`
}
