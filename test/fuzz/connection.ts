import { connect, type Socket } from 'node:net'

/** A response as it was on the wire. */
export interface RawResponse {
  readonly status: number
  /** The fields in their order, names in lower case. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
}

/** The answer is not HTTP. */
export class MalformedResponseError extends Error {
  override name = 'MalformedResponseError'
}

const LINE_END = '\r\n'
const HEAD_END = '\r\n\r\n'
const STATUS_LINE = /^HTTP\/1\.1 ([1-5]\d\d)(?: .*)?$/
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/

/** One connection, on which bytes are sent as they are, and responses are read by the letter of RFC 9112. */
export class Connection implements Disposable {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #hasEnded = false
  #changed = Promise.withResolvers<void>()

  constructor(address: string) {
    const { hostname, port } = new URL(address)
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true })
    this.#socket.on('data', data => {
      const bytes = typeof data === 'string' ? Buffer.from(data) : data
      this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes])
      this.#tell()
    })
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => {
      this.#hasEnded = true
      this.#tell()
    })
  }

  get isOpen(): boolean {
    return !this.#hasEnded
  }

  /** Received bytes that belong to no response that was read. */
  get unread(): Buffer {
    return this.#received
  }

  send(bytes: Buffer): void {
    if (!this.#hasEnded) this.#socket.write(bytes)
  }

  /**
   * Resolves to the next response; to `null` if the server closes the connection instead, or sends nothing for `patienceMs`.
   * Rejects with a `MalformedResponseError`.
   */
  async read({ isHead, patienceMs }: { isHead: boolean; patienceMs: number }): Promise<RawResponse | null> {
    for (;;) {
      const parsed = parseResponse(this.#received, { isHead, hasEnded: this.#hasEnded })
      if (parsed) {
        this.#received = this.#received.subarray(parsed.length)
        return parsed.response
      }
      if (this.#hasEnded || !(await this.#changes(patienceMs))) return null
    }
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }

  #tell(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  async #changes(patienceMs: number): Promise<boolean> {
    const late = Promise.withResolvers<boolean>()
    const timer = setTimeout(() => late.resolve(false), patienceMs)
    const inTime = await Promise.race([this.#changed.promise.then(() => true), late.promise])
    clearTimeout(timer)
    return inTime
  }
}

interface Parsed {
  readonly response: RawResponse
  /** In bytes. */
  readonly length: number
}

/** The first response in what was received; `null` if it is not complete. */
function parseResponse(bytes: Buffer, { isHead, hasEnded }: { isHead: boolean; hasEnded: boolean }): Parsed | null {
  const headLength = bytes.indexOf(HEAD_END)
  if (headLength === -1) {
    if (bytes.length > 0 && !'HTTP/1.1 '.startsWith(bytes.subarray(0, 9).toString('latin1'))) throw malformed(bytes)
    return null
  }
  const [statusLine = '', ...lines] = bytes.subarray(0, headLength).toString('latin1').split(LINE_END)
  const status = Number(STATUS_LINE.exec(statusLine)?.[1])
  if (!status) throw malformed(bytes)
  const fields = lines.map((line): [string, string] => {
    const [, name, value] = FIELD.exec(line) ?? []
    if (name === undefined || value === undefined || /[\0\r\n]/.test(value)) throw malformed(bytes)
    return [name.toLowerCase(), value]
  })
  const start = headLength + HEAD_END.length
  const made = (body: Buffer, end: number) => ({ response: { status, fields, body }, length: end })
  if (isHead || status < 200 || status === 204 || status === 304) return made(Buffer.alloc(0), start)
  const only = (name: string) => {
    const values = fields.filter(field => field[0] === name)
    if (values.length > 1) throw malformed(bytes)
    return values[0]?.[1]
  }
  const [length, coding] = [only('content-length'), only('transfer-encoding')]
  if (length !== undefined && coding !== undefined) throw malformed(bytes)
  if (coding !== undefined) {
    if (coding !== 'chunked') throw malformed(bytes)
    return chunkedBody(bytes, start, made)
  }
  if (length === undefined) return hasEnded ? made(bytes.subarray(start), bytes.length) : null
  if (!/^\d+$/.test(length)) throw malformed(bytes)
  const end = start + Number(length)
  return bytes.length < end ? null : made(bytes.subarray(start, end), end)
}

function chunkedBody(bytes: Buffer, start: number, made: (body: Buffer, end: number) => Parsed): Parsed | null {
  const chunks: Buffer[] = []
  for (let position = start; ; ) {
    const lineEnd = bytes.indexOf(LINE_END, position)
    if (lineEnd === -1) return null
    const size = bytes.subarray(position, lineEnd).toString('latin1')
    if (!/^[0-9a-fA-F]+$/.test(size)) throw malformed(bytes)
    const end = lineEnd + 2 + Number.parseInt(size, 16)
    if (bytes.length < end + 2) return null
    if (bytes.subarray(end, end + 2).toString('latin1') !== LINE_END) throw malformed(bytes)
    if (end === lineEnd + 2) return made(Buffer.concat(chunks), end + 2)
    chunks.push(bytes.subarray(lineEnd + 2, end))
    position = end + 2
  }
}

function malformed(bytes: Buffer): MalformedResponseError {
  return new MalformedResponseError(
    `not an HTTP response: ${JSON.stringify(bytes.subarray(0, 300).toString('latin1'))}`,
  )
}
