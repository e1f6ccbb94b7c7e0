import { connect, type Socket } from 'node:net'

/** A listener on a bare socket, light enough to open thousands, that can stop reading. */
export interface SocketListener {
  /** Everything read so far: the head and the chunks, as they were on the wire. */
  readonly read: () => string
  readonly stopReading: () => void
  readonly goOnReading: () => void
  /** Resolves when this text was read; fails if the connection closes first. */
  readonly until: (text: string) => Promise<void>
  readonly leave: () => void
}

export function listenOnSocket(address: string, reqId: string): SocketListener {
  const { hostname, port, host } = new URL(address)
  const socket: Socket = connect(Number(port), hostname)
  socket.write(`GET /chatstream/${reqId} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  let text = ''
  let isClosed = false
  let news = Promise.withResolvers<void>()
  const tell = () => {
    news.resolve()
    news = Promise.withResolvers()
  }
  socket.on('data', bytes => {
    text += bytes.toString()
    tell()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
    tell()
  })
  return {
    read: () => text,
    stopReading: () => socket.pause(),
    goOnReading: () => socket.resume(),
    until: async wanted => {
      while (!text.includes(wanted)) {
        if (isClosed) throw new Error(`the connection was closed: ${text.slice(-500)}`)
        await news.promise
      }
    },
    leave: () => socket.destroy(),
  }
}
