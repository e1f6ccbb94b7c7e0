import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { urlAt } from './server.ts'

/** An address behind which servers come and go, as one of a cluster does. */
export interface Address extends AsyncDisposable {
  readonly port: number
  readonly url: (database: string) => string
  /** Sends connections that are opened from now on to another server. */
  readonly switchTo: (port: number) => void
  /** Cuts all connections that are open. */
  readonly cut: () => void
  /** Takes no connections from now on; those that are open stay so. */
  readonly refuse: () => Promise<void>
  /** Takes connections again. */
  readonly accept: () => Promise<void>
  /** Takes connections and bytes, and passes nothing on in either direction. */
  readonly freeze: () => void
  /** Passes on what was held back. */
  readonly thaw: () => void
  /** Passes on new connections alone; those from before stay silent, as when a machine was lost and replaced. */
  readonly replace: () => void
  /** How many connections of clients were opened so far. */
  readonly connections: () => number
}

/** Opens an address on a free port of loopback, in front of a server at another one. */
export async function openAddress(target: number): Promise<Address> {
  /** Connections of clients that lead nowhere yet. */
  const held = new Set<Socket>()
  const sockets = new Set<Socket>()
  let frozen = false
  let opened = 0
  const keep = (socket: Socket, partner?: Socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      held.delete(socket)
      partner?.destroy()
    })
  }
  const forward = (client: Socket) => {
    const server = connect(target, '127.0.0.1')
    client.on('close', () => server.destroy())
    keep(server, client)
    client.pipe(server)
    server.pipe(client)
  }
  const listener = createServer({ pauseOnConnect: true }, client => {
    opened += 1
    keep(client)
    if (frozen) held.add(client)
    else forward(client)
  })
  const listen = async (port: number) => {
    listener.listen(port, '127.0.0.1')
    await once(listener, 'listening')
  }
  await listen(0)
  const place = listener.address()
  if (place === null || typeof place === 'string') throw new Error('the address is not open')
  const { port } = place
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port,
    url: database => urlAt(port, database),
    switchTo: other => {
      target = other
    },
    cut,
    refuse: async () => {
      listener.close()
    },
    accept: () => listen(port),
    freeze: () => {
      frozen = true
      for (const socket of sockets) socket.pause()
    },
    thaw: () => {
      frozen = false
      for (const client of held) forward(client)
      held.clear()
      for (const socket of sockets) socket.resume()
    },
    replace: () => {
      frozen = false
      held.clear()
    },
    connections: () => opened,
    [Symbol.asyncDispose]: async () => {
      cut()
      listener.close()
    },
  }
}
