import type { Server } from 'bun'

export interface ListServicePeer extends AsyncDisposable {
  readonly url: string
  /** How often it was asked. */
  readonly asked: () => number
}

/** A list service over real HTTP that answers as it is told. */
export function listService(answer: (request: Request) => Response | Promise<Response>): ListServicePeer {
  let asked = 0
  const server: Server<undefined> = Bun.serve<undefined>({
    hostname: '127.0.0.1',
    port: 0,
    fetch: request => {
      asked += 1
      return answer(request)
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/list`,
    asked: () => asked,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

/** The shape of the real one. */
export function listAnswer(names: readonly string[]): Response {
  return Response.json({ message: Object.fromEntries(names.map(name => [name, []])), status: 'success' })
}
