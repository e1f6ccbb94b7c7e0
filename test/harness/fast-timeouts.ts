import type { Server } from 'bun'

/** Time limits end so many times sooner. */
export const FACTOR = 15

/** The runtime looks this often for connections that are idle, and cuts them up to so much too early. */
const LOOK_SECONDS = 4

/** A timeout of the runtime that ends sooner. */
export function hurried(seconds: number): number {
  return Math.ceil(seconds / FACTOR) + LOOK_SECONDS
}

/** Makes the server's timeouts of requests end sooner. Returns the server. */
export function hurry<Data>(server: Server<Data>): Server<Data> {
  const timeout = server.timeout.bind(server)
  server.timeout = (request, seconds) => timeout(request, hurried(seconds))
  return server
}
