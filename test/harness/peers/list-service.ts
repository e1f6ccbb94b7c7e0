import type { Server } from 'bun'

export interface ListServicePeer extends AsyncDisposable {
  readonly url: string
  /** How many requests it got. */
  readonly asked: () => number
}

/** A list service over real HTTP whose answers the test chooses. */
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

/** The shape of the real service's answer. */
export function listAnswer(names: readonly string[]): Response {
  return Response.json({ message: Object.fromEntries(names.map(name => [name, []])), status: 'success' })
}
