import type { Page } from 'playwright-core'

/** Logs in as a browser does. */
export function logIn(
  address: string,
  password: string,
  { fields = {}, headers = {} }: { fields?: Record<string, string>; headers?: Record<string, string> } = {},
): Promise<Response> {
  const body = new URLSearchParams({ password, next: '/', ...fields })
  return fetch(`${address}/login`, { method: 'POST', body, headers, redirect: 'manual' })
}

/** The cookie that a response sets, as a browser sends it back. */
export function cookieOf({ headers }: Response): { Cookie: string } {
  return { Cookie: /^[^;]*/.exec(headers.get('Set-Cookie') ?? '')?.[0] ?? '' }
}

/** Logs in at the log-in page. Resolves when the page that follows is loaded with its scripts. */
export async function logInAt(page: Page, credential: string): Promise<void> {
  await page.getByLabel(/^(Password|Access key)/).fill(credential)
  await Promise.all([page.waitForNavigation(), page.getByRole('button', { name: 'Log in' }).click()])
}
