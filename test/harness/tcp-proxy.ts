import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { urlAt } from './postgres/server.ts'

/** A TCP proxy at a fixed address, behind which servers come and go as in a cluster. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number
  readonly url: (database: string) => string
  /** Sends new connections to another server. */
  readonly switchTo: (port: number) => void
  /** Cuts all open connections. */
  readonly cut: () => void
  /** Refuses new connections; open ones stay open. */
  readonly refuse: () => Promise<void>
  /** Accepts connections again. */
  readonly accept: () => Promise<void>
  /** Accepts connections and bytes, and passes nothing on in either direction. */
  readonly freeze: () => void
  /** Passes on everything held back. */
  readonly thaw: () => void
  /** Takes what clients send and passes it on only when the result is called, even if the client is gone by then. */
  readonly holdBack: () => () => void
  /** The same for each connection from the moment on when a client sends this text over it. */
  readonly holdBackFrom: (text: string) => Held
  /** Passes on new connections only; older ones stay silent, as when a machine is lost and replaced. */
  readonly replace: () => void
  /** How many client connections were opened so far. */
  readonly connections: () => number
  /** How many times clients have sent something so far. */
  readonly sent: () => number
}

interface Held {
  /** Resolves when the text was sent for the first time. */
  readonly begun: Promise<void>
  readonly passOn: () => void
}

/** Opens a proxy on a free loopback port, in front of a server at another port. */
export async function openTcpProxy(target: number): Promise<TcpProxy> {
  /** Client connections without a server connection yet. */
  const held = new Set<Socket>()
  const sockets = new Set<Socket>()
  let frozen = false
  let released = Promise.resolve()
  let heldBack: { text: string; begin: () => void; released: Promise<void> } | null = null
  let opened = 0
  let sent = 0
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
    let releasedHere = Promise.resolve()
    client.on('data', async (bytes: Buffer) => {
      sent += 1
      if (heldBack && bytes.includes(heldBack.text)) {
        heldBack.begin()
        releasedHere = heldBack.released
      }
      await releasedHere
      await released
      server.write(bytes)
    })
    client.on('close', async () => {
      await releasedHere
      await released
      server.destroySoon()
    })
    client.resume()
    keep(server, client)
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
    holdBack: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      released = promise
      return resolve
    },
    holdBackFrom: text => {
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
      const { promise, resolve } = Promise.withResolvers<void>()
      heldBack = { text, begin, released: promise }
      return {
        begun,
        passOn: () => {
          heldBack = null
          resolve()
        },
      }
    },
    replace: () => {
      frozen = false
      held.clear()
    },
    connections: () => opened,
    sent: () => sent,
    [Symbol.asyncDispose]: async () => {
      cut()
      listener.close()
    },
  }
}

/** The same in front of a server of HTTP, at an address of its own. */
export async function openHttpProxy(target: string): Promise<TcpProxy & { readonly address: string }> {
  const proxy = await openTcpProxy(Number(new URL(target).port))
  return { ...proxy, address: `http://127.0.0.1:${proxy.port}` }
}
