import { connect } from 'node:net'

/** One connection, which is not opened again once it is closed. */
export interface Connection extends AsyncDisposable {
  /** Resolves when there is an answer with status 200. Rejects if there is another one, or if the connection is closed. */
  readonly get: (path: string) => Promise<void>
}

/** Opens a bare socket, for answers that say their length: `fetch` opens another connection in place of a closed one. */
export async function openConnection(address: string): Promise<Connection> {
  const { hostname, port, host } = new URL(address)
  const socket = connect(Number(port), hostname)
  const opened = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  socket.on('connect', () => opened.resolve())
  socket.on('error', opened.reject)
  socket.on('close', () => closed.resolve())
  await opened.promise
  return {
    get: path => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      let received = ''
      const take = (bytes: Buffer) => {
        // Latin-1 keeps bytes and characters the same in number, as the length needs it.
        received += bytes.toString('latin1')
        const [head = '', body] = received.split('\r\n\r\n', 2)
        if (body === undefined || body.length < Number(/^content-length: (\d+)$/im.exec(head)?.[1])) return
        socket.off('data', take)
        if (head.startsWith('HTTP/1.1 200')) resolve()
        else reject(new Error(head))
      }
      socket.on('data', take)
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      return Promise.race([promise, closed.promise.then(() => Promise.reject(new Error('the connection was closed')))])
    },
    [Symbol.asyncDispose]: async () => {
      socket.destroy()
      await closed.promise
    },
  }
}
