import { connect } from 'node:net'

/** One connection on which requests are sent without waiting for the answers before. */
export interface Pipeline extends AsyncDisposable {
  /** Resolves to the parsed body. */
  readonly get: (path: string) => Promise<unknown>
}

/** Opens a bare socket: `fetch` waits for each answer before it sends the next request on a connection. */
export async function openPipeline(address: string): Promise<Pipeline> {
  const { hostname, port, host } = new URL(address)
  const socket = connect(Number(port), hostname)
  const opened = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  const waiting: { resolve: (body: unknown) => void; reject: (error: unknown) => void }[] = []
  let received = ''
  socket.on('connect', () => opened.resolve())
  socket.on('data', bytes => {
    // Latin-1 keeps bytes and characters the same in number, as the lengths need it.
    received += bytes.toString('latin1')
    for (let body = nextBody(); body !== null; body = nextBody()) {
      waiting.shift()?.resolve(JSON.parse(Buffer.from(body, 'latin1').toString()))
    }
  })
  socket.on('error', opened.reject)
  socket.on('close', () => {
    for (const { reject } of waiting.splice(0)) reject(new Error('the connection was closed'))
    closed.resolve()
  })
  await opened.promise

  /** Takes the first whole response from what was received. */
  const nextBody = (): string | null => {
    const start = received.indexOf('\r\n\r\n') + 4
    if (start < 4) return null
    const length = /^content-length: (\d+)\r$/im.exec(received.slice(0, start))?.[1]
    if (length !== undefined) {
      const end = start + Number(length)
      if (received.length < end) return null
      return take(received.slice(start, end), end)
    }
    let body = ''
    for (let position = start; ; ) {
      const line = received.indexOf('\r\n', position)
      if (line === -1) return null
      const size = Number.parseInt(received.slice(position, line), 16)
      const end = line + 2 + size + 2
      if (received.length < end) return null
      if (size === 0) return take(body, end)
      body += received.slice(line + 2, end - 2)
      position = end
    }
  }
  const take = (body: string, end: number): string => {
    received = received.slice(end)
    return body
  }

  return {
    get: path =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject })
        socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      }),
    [Symbol.asyncDispose]: async () => {
      socket.destroy()
      await closed.promise
    },
  }
}
