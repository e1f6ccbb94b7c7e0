import type { Params, Result, Router } from 'hono/router'
import { TrieRouter } from 'hono/router/trie-router'
import type { MatchedRoute } from './request-target.ts'
import { RunningRequest } from './requests.ts'

/**
 * Options for a Hono app behind the runtime's router, which has already matched the target as it was sent. By default Hono
 * would match the path of `request.url`, which is not as it was sent, and would spend a tenth of the time of a small request
 * on finding the same route again. To the app, the path of a request is its route.
 */
export function routing<Handler>(): { router: Router<Handler>; getPath: GetPath } {
  const router = new MatchedRouter<Handler>()
  return { router, getPath: (_, { env } = {}) => (env instanceof RunningRequest ? router.take(env.matched) : '') }
}

type GetPath = (request: Request, options?: { env?: object }) => string

class MatchedRouter<Handler> implements Router<Handler> {
  readonly name = 'MatchedRouter'
  readonly #routes = new TrieRouter<Handler>()
  /** By method and route. */
  readonly #handlers = new Map<string, readonly Handler[]>()
  #parameters: Params = {}

  add(method: string, path: string, handler: Handler): void {
    this.#routes.add(method, path, handler)
    this.#handlers.clear()
  }

  /** Hono asks for the path of a request and then, in the same turn, for its handlers. */
  take({ route, parameters }: MatchedRoute): string {
    this.#parameters = parameters
    return route
  }

  match(method: string, route: string): Result<Handler> {
    const parameters = this.#parameters
    // A route matches itself: `:id` is a possible value of `:id`.
    const handlers = this.#handlers.getOrInsertComputed(`${method} ${route}`, () =>
      this.#routes.match(method, route)[0].map(([handler]) => handler),
    )
    return [handlers.map((handler): [Handler, Params] => [handler, parameters])]
  }
}
