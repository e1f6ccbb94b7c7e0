import { createServer } from 'node:net'

/**
 * Below the ports that systems use for outgoing connections, so that a server's port is still free
 * when it restarts.
 */
const LOWEST_PORT = 20_000
const PORTS = 12_000
const PORT_TRIES = 20

/** A free loopback port, for a program that cannot choose one by itself. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORT_TRIES; tries += 1) {
    const port = LOWEST_PORT + Math.floor(Math.random() * PORTS)
    if (await isFree(port)) return port
  }
  throw new Error('no port is free')
}

async function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const server = createServer()
  server.once('error', () => resolve(false))
  server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  return promise
}
