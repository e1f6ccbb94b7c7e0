/** The texts, paths and secrets of pages that need a log-in. */
export interface ProtectedPages {
  readonly loginPath: string
  readonly logoutPath: string
  /** Whether a route is for users who have logged in. Health, static files, log-in and log-out never are. */
  readonly isProtected: (route: string) => boolean
  /** The page to open after the log-in: the one at this path or, if these pages do not have it, the first. */
  readonly pageAt: (path: string) => string
  /** The name of these pages in `WWW-Authenticate`, and in a link to them. */
  readonly realm: string
  readonly title: string
  /** The heading of the log-in page. */
  readonly heading: string
  /** Tells users that their session has ended. */
  readonly ended: string
  /** The path of a style sheet that contains `LOGIN_STYLES`. */
  readonly stylesheet: string
  /** A form whose text is kept if it is sent without a session; `null` if there is none. */
  readonly keptForm: KeptForm | null
}

interface KeptForm {
  /** The route that the form is posted to, and the name of its field. */
  readonly route: string
  readonly field: string
  /** The page with the form and the text, after the log-in. */
  readonly page: (text: string) => string
}
