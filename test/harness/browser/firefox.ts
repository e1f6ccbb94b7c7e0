import { spawn } from 'bun'
import { z } from 'zod'
import { temporaryFolder } from '../temporary-folder.ts'

/** Debian's Firefox, if it is installed. */
export const firefoxPath = Bun.which('firefox-esr')

export interface TestFirefox extends AsyncDisposable {
  readonly goTo: (address: string) => Promise<void>
  /** The value of an expression in the page, once it is neither false nor empty. */
  readonly awaited: (expression: string) => Promise<unknown>
}

const LISTENING_LINE = /WebDriver BiDi listening on (\S+)/

const Answer = z.object({
  id: z.int(),
  result: z.unknown(),
  error: z.string().optional(),
  message: z.string().optional(),
})
const Tree = z.object({ contexts: z.tuple([z.object({ context: z.string() })]).rest(z.unknown()) })
const Evaluated = z.object({ type: z.literal('success'), result: z.object({ value: z.string() }) })

/** Sends no requests of its own. */
const PREFERENCES = {
  'app.update.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.page': 0,
  'captivedetect.canonicalURL': '',
  'datareporting.policy.dataSubmissionEnabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': '',
}

/** Opens Firefox without a window, in a fresh profile, and drives it by WebDriver BiDi, the W3C's protocol for that. */
export async function openFirefox(path: string): Promise<TestFirefox> {
  await using open = new AsyncDisposableStack()
  const profile = open.use(temporaryFolder()).path
  const preferences = Object.entries(PREFERENCES).map(
    ([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`,
  )
  await Bun.write(`${profile}/user.js`, preferences.join('\n'))
  const firefox = open.adopt(
    spawn([path, '--headless', '--profile', profile, '--remote-debugging-port', '0'], {
      env: { ...process.env, HOME: profile },
      stdout: 'ignore',
      stderr: 'pipe',
    }),
    async child => {
      child.kill()
      await child.exited
    },
  )
  const ask = await connected(`${await listeningAddress(firefox.stderr)}/session`)
  await ask('session.new', { capabilities: {} })
  const [{ context }] = Tree.parse(await ask('browsingContext.getTree', {})).contexts
  const whole = open.move()
  return {
    goTo: async address => {
      await ask('browsingContext.navigate', { context, url: address, wait: 'complete' })
    },
    awaited: async expression => {
      const watching = `new Promise(resolve => {
        const look = () => {
          const value = ${expression}
          if (value) resolve(JSON.stringify(value))
          else setTimeout(look, 20)
        }
        look()
      })`
      const parameters = { expression: watching, target: { context }, awaitPromise: true }
      return JSON.parse(Evaluated.parse(await ask('script.evaluate', parameters)).result.value)
    },
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  }
}

async function listeningAddress(errors: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of errors) {
    text += decoder.decode(bytes, { stream: true })
    const address = LISTENING_LINE.exec(text)?.[1]
    if (address) return address
  }
  throw new Error(`Firefox did not start: ${text}`)
}

async function connected(address: string) {
  const socket = new WebSocket(address)
  const answers = new Map<number, (answer: z.infer<typeof Answer>) => void>()
  socket.addEventListener('message', ({ data }) => {
    const answer = Answer.safeParse(JSON.parse(String(data)))
    if (answer.success) answers.get(answer.data.id)?.(answer.data)
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', reject)
  })
  let asked = 0
  return async (method: string, params: Record<string, unknown>): Promise<unknown> => {
    const { promise, resolve } = Promise.withResolvers<z.infer<typeof Answer>>()
    const id = asked++
    answers.set(id, resolve)
    socket.send(JSON.stringify({ id, method, params }))
    const { result, error, message } = await promise
    if (error !== undefined) throw new Error(`${method}: ${error}: ${message}`)
    return result
  }
}
