import { answer, cut, failure, half, type Reply, type ScriptedServer, startScriptedServer } from './scripted-server.ts'

/** The headers of requests that matter to the service behind. */
const PASSED = ['accept', 'authorization', 'content-type', 'idempotency-key', 'if-match', 'prefer'] as const

const RETURNED = ['ETag', 'Link', 'X-Total-Count', 'Retry-After']

const AT_ONCE = { 'Retry-After': '0' }

/**
 * Stands before a service and fails in every way that a network, a proxy or an overloaded server can fail: every other request,
 * in turn. It is late by `lateMs`, which should be more than its clients wait. It never says 500, which clients repeat only once.
 */
export function startFaultyProxy(target: string, lateMs: number): Promise<ScriptedServer> {
  const faults: readonly Reply[] = [
    cut,
    // Done, and the answer is lost.
    async (response, asked) => {
      await passedOn(asked)
      cut(response, asked)
    },
    failure(503, 'The database cannot be used at the moment', AT_ONCE),
    async (response, asked) => {
      const { body } = await passedOn(asked)
      await half(body)(response, asked)
    },
    failure(429, 'Too many requests', AT_ONCE),
    // Done when its client has given up, perhaps while the repeated request is served.
    async (response, asked) => {
      await Bun.sleep(lateMs)
      await (await passedOn(asked)).reply(response, asked)
    },
    // Done, and the client has given up before the answer.
    async (response, asked) => {
      const { reply } = await passedOn(asked)
      await Bun.sleep(lateMs)
      await reply(response, asked)
    },
    failure(409, 'A request with the same Idempotency-Key is in progress', AT_ONCE),
    // Done, although the server says that it is not.
    async (response, asked) => {
      await passedOn(asked)
      await failure(503, 'The database cannot be used at the moment', AT_ONCE)(response, asked)
    },
    answer('<h1>502 Bad Gateway</h1>', { 'Content-Type': 'text/html' }, 502),
  ]
  return startScriptedServer(async (_, number) => {
    const fault = number % 2 === 1 ? faults[((number - 1) / 2) % faults.length] : undefined
    return fault ?? (async (response, asked) => (await passedOn(asked)).reply(response, asked))
  })

  async function passedOn({ method, path, headers, body }: Parameters<Reply>[1]) {
    const sent = PASSED.flatMap(name => (typeof headers[name] === 'string' ? [[name, headers[name]]] : []))
    const response = await fetch(target + path, {
      method,
      headers: Object.fromEntries(sent),
      ...(body !== '' && { body }),
    })
    const returned = RETURNED.flatMap(name => {
      const value = response.headers.get(name)
      return value === null ? [] : [[name, value]]
    })
    const text = await response.text()
    return { body: JSON.parse(text), reply: answer(text, Object.fromEntries(returned), response.status) }
  }
}
