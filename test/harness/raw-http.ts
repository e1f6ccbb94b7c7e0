import { connect } from 'node:net'

export interface Reply {
  /** 0 when the connection was closed without an answer. */
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

/** Sends a request byte for byte, as no HTTP client would, and reads one response to its end. */
export async function sendVerbatim(address: string, request: string): Promise<Reply> {
  const text = await exchange(address, request)
  const [head = '', ...body] = text.split('\r\n\r\n')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const headers = new Headers(lines.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
  return { status: Number(statusLine.split(' ')[1] ?? 0), headers, body: body.join('\r\n\r\n') }
}

/** Sends a request without a body whose line and headers are unchanged. */
export function sendLines(address: string, ...lines: readonly string[]): Promise<Reply> {
  return sendVerbatim(address, `${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`)
}

/** Resolves to everything received until the server closes the connection, as Latin-1. */
function exchange(address: string, request: string): Promise<string> {
  const { hostname, port } = new URL(address)
  return new Promise(resolve => {
    const socket = connect(Number(port), hostname)
    let text = ''
    socket.setEncoding('latin1')
    socket.on('data', piece => {
      text += piece
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(text))
    socket.write(request, 'latin1')
  })
}
