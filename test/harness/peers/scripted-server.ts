import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import '../no-proxy.ts'

/** A request that a server has read to its end. */
export interface Asked {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export type Reply = (response: ServerResponse, asked: Asked) => void | Promise<void>

export interface ScriptedServer extends AsyncDisposable {
  readonly address: string
  /** All requests so far. */
  readonly asked: readonly Asked[]
}

/** A real HTTP server that answers each request as a test says, well or badly. Requests are numbered from 0. */
export async function startScriptedServer(
  replyTo: (asked: Asked, number: number) => Reply | Promise<Reply>,
): Promise<ScriptedServer> {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    response.on('error', () => {})
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const { method = '', url: path = '', headers } = request
    const one = { method, path, headers, body: Buffer.concat(pieces).toString() }
    asked.push(one)
    const reply = await replyTo(one, asked.length - 1)
    await reply(response, one)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server does not listen')
  return {
    address: `http://127.0.0.1:${address.port}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Answers with the first reply, then with the second, …; with the last one for ever. */
export function inTurn(...replies: readonly [Reply, ...Reply[]]): (asked: Asked, number: number) => Reply {
  return (_, number) => replies[Math.min(number, replies.length - 1)] ?? replies[0]
}

export function answer(body: unknown, headers: Readonly<Record<string, string>> = {}, status = 200): Reply {
  return response => {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

export function failure(status: number, detail: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return answer({ detail }, headers, status)
}

/** Closes the connection without an answer. */
export const cut: Reply = response => {
  response.socket?.destroy()
}

/** Closes the connection amid the answer. */
export function half(body: unknown): Reply {
  return async response => {
    const text = JSON.stringify(body)
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(text)) })
    response.write(text.slice(0, text.length / 2))
    await Bun.sleep(10)
    response.socket?.destroy()
  }
}

/** Never answers. */
export const silence: Reply = () => {}
