import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import chromiumPackage from '@sparticuz/chromium'
import { spawnSync } from 'bun'
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { temporaryFolder } from '../temporary-folder.ts'

export interface TestBrowser extends AsyncDisposable {
  /** A page in a fresh profile. */
  readonly openTab: (options?: TabOptions) => Promise<Tab>
}

export interface TabOptions extends BrowserContextOptions {
  /**
   * For a page that gets a route, or loses one, while it is open. At that moment, Chromium may send a request past the route or
   * hold it for good, so such a page passes all its requests to Playwright from the start.
   */
  readonly hasRoutes?: boolean
  /** For a page that gets scripts, as those of a clock are, which nothing takes away again. */
  readonly isNew?: boolean
}

/** A page and what has happened in it so far. */
export interface Tab extends AsyncDisposable {
  readonly page: Page
  /** The address of every request so far, refused ones included. */
  readonly requests: () => readonly string[]
  /** Errors, warnings, failed requests that were not aborted, and violations of the security policy, as in a developer console. */
  readonly complaints: () => readonly string[]
}

/** A name for this machine that browsers do not trust the way they trust `localhost`. */
export const PLAIN_HOST = 'chat.test'

/** A page aborts a stream or a search that it does not wait for any more. */
const ABORTED = 'net::ERR_ABORTED'
/** htmx logs these two lines for an aborted request. For one that failed, it logs a third. */
const ABORTED_BY_HTMX = /^htmx:(afterRequest|sendAbort), /

const NO_ADDRESS = /^none:/

/** No requests beyond this machine. The sandbox does not work for root, and the pages are our own. */
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  `--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`,
]

interface BrowserOptions {
  /** Without images, a page with many of them loads in two thirds of the processor time. */
  readonly hasImages?: boolean
}

/** A folder for the unpacked browser, shared by all test files of a run: it is 200 MB and takes a second to unpack. */
export const SHARED_BROWSER_VARIABLE = 'STOCKROOM_TEST_BROWSER'

/** Opens the packaged Chromium without a window. */
export async function openBrowser({ hasImages = true }: BrowserOptions = {}): Promise<TestBrowser> {
  const open = new AsyncDisposableStack()
  try {
    const folder = open.use(temporaryFolder())
    const executablePath = unpacked(folder.path)
    const args = [...FLAGS, `--blink-settings=imagesEnabled=${hasImages}`]
    const browser = open.adopt(
      await chromium.launch({ executablePath, args, env: { ...process.env, HOME: folder.path } }),
      launched => launched.close(),
    )
    return {
      openTab: async ({ hasRoutes = false, isNew: _, ...options } = {}) => {
        // Without motion, a page draws only what changes, and axe does not measure the contrast of text that is still fading in.
        const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
        if (hasRoutes) await context.route(NO_ADDRESS, route => route.continue())
        return observed(await context.newPage())
      },
      [Symbol.asyncDispose]: () => open.disposeAsync(),
    }
  } catch (error) {
    await open.disposeAsync()
    throw error
  }
}

/** The path of the browser. The first test file of a run unpacks it for the others; a file that runs alone unpacks it into `folder`. */
function unpacked(folder: string): string {
  const shared = process.env[SHARED_BROWSER_VARIABLE]
  if (shared === undefined) return unpack(folder)
  const complete = join(shared, 'complete')
  if (!existsSync(complete)) {
    const own = mkdtempSync(join(shared, 'incomplete-'))
    unpack(own)
    try {
      renameSync(own, complete)
    } catch (error) {
      // Another test file may have been faster.
      if (!existsSync(complete)) throw error
      rmSync(own, { recursive: true })
    }
  }
  return join(complete, 'chromium')
}

/**
 * The package unpacks into the system's temporary folder and trusts any file there with the browser's name,
 * even one left half-written by an interrupted run. So it unpacks in its own process, with a fresh temporary folder.
 */
function unpack(folder: string): string {
  const { stdout, stderr, success } = spawnSync([process.execPath, import.meta.path], {
    env: { ...process.env, TMPDIR: folder },
    stderr: 'pipe',
  })
  if (!success) throw new Error(`the browser could not be unpacked: ${stderr}`)
  return stdout.toString()
}

async function observed(page: Page): Promise<Tab> {
  const requests: string[] = []
  const complaints: string[] = []
  page.on('request', request => requests.push(request.url()))
  page.on('requestfailed', request => {
    const reason = request.failure()?.errorText
    if (reason !== ABORTED) complaints.push(`failed: ${request.url()} ${reason}`)
  })
  page.on('pageerror', error => complaints.push(`uncaught: ${error.message}`))
  page.on('console', message => {
    const isComplaint = ['error', 'warning', 'assert'].includes(message.type()) && !ABORTED_BY_HTMX.test(message.text())
    if (isComplaint) complaints.push(`${message.type()}: ${message.text()}`)
  })
  await page.exposeFunction('reportViolation', (violation: string) => complaints.push(`policy: ${violation}`))
  await page.addInitScript(`
    addEventListener('securitypolicyviolation', event =>
      reportViolation(event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sourceFile + ':' + event.lineNumber))
  `)
  return {
    page,
    requests: () => requests,
    complaints: () => complaints,
    [Symbol.asyncDispose]: () => page.context().close(),
  }
}

if (import.meta.main) process.stdout.write(await chromiumPackage.executablePath())
