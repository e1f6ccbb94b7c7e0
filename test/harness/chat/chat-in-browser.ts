import { afterAll, beforeAll, setDefaultTimeout } from 'bun:test'
import { openBrowser, type Tab, type TabOptions, type TestBrowser } from '../browser/chromium.ts'
import { reusingTabs } from '../browser/reused-tabs.ts'
import { type ChatServer, startChatServer } from './chat-server.ts'

/** Unpacking and starting a browser takes long on a busy machine. */
const BROWSER_TIMEOUT_MS = 120_000

export interface ChatInBrowser {
  readonly browser: TestBrowser
  readonly server: ChatServer
  /** A tab with the chat's page. */
  readonly openChat: (options?: TabOptions) => Promise<Tab>
}

/** A browser and a chat server for all tests of a file. They are there once the tests run. */
export function chatInBrowser(start: () => Promise<ChatServer> = startChatServer): ChatInBrowser {
  setDefaultTimeout(BROWSER_TIMEOUT_MS)
  const open = new AsyncDisposableStack()
  let browser: TestBrowser | undefined
  let server: ChatServer | undefined
  beforeAll(async () => {
    browser = reusingTabs(open.use(await openBrowser()))
    server = open.use(await start())
  }, BROWSER_TIMEOUT_MS)
  afterAll(() => open.disposeAsync(), BROWSER_TIMEOUT_MS)
  const started = <Part>(part: Part | undefined): Part => {
    if (part === undefined) throw new Error('the browser and the server start before the first test')
    return part
  }
  return {
    get browser() {
      return started(browser)
    },
    get server() {
      return started(server)
    },
    openChat: async options => {
      const tab = await started(browser).openTab(options)
      await tab.page.goto(started(server).chat.address)
      return tab
    },
  }
}
