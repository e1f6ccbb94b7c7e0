import type { Socket } from 'bun'

export interface CuttingProxy extends AsyncDisposable {
  readonly address: string
  /** Cuts all connections, as a network does. New ones are served. */
  readonly cut: () => void
}

/** Hands bytes on between clients and the server at `address`. */
export function cuttingProxy(address: string): CuttingProxy {
  const { hostname, port } = new URL(address)
  const open = new Set<Socket<Peer>>()
  const handlers = {
    open: (socket: Socket<Peer>) => {
      open.add(socket)
    },
    data: (socket: Socket<Peer>, bytes: Buffer) => {
      void socket.data.other.then(other => other.write(bytes))
    },
    close: (socket: Socket<Peer>) => {
      open.delete(socket)
      void socket.data.other.then(other => other.end())
    },
  }
  const listener = Bun.listen<Peer>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      ...handlers,
      open: client => {
        client.data = {
          other: Bun.connect<Peer>({
            hostname,
            port: Number(port),
            data: { other: Promise.resolve(client) },
            socket: handlers,
          }),
        }
        handlers.open(client)
      },
    },
  })
  const cut = () => {
    for (const socket of open) socket.terminate()
  }
  return {
    address: `http://127.0.0.1:${listener.port}`,
    cut,
    [Symbol.asyncDispose]: async () => {
      listener.stop(true)
      cut()
    },
  }
}

interface Peer {
  other: Promise<Socket<Peer>>
}
