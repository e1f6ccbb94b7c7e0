import { field } from './answers.ts'
import { Connection, MalformedResponseError, type RawResponse } from './connection.ts'
import { asText, type RawCase, rawCase, SMUGGLED, SMUGGLED_ID, type Template } from './raw-cases.ts'
import { FoundError } from './session.ts'
import { type Finding, inWorkers } from './workers.ts'

interface SocketOptions {
  readonly address: string
  readonly seed: number
  readonly requests: number
  readonly workers: number
  readonly templates: readonly Template[]
}

/** A server that waits for more gets this long to say otherwise. */
const QUIET_MS = 30
const PATIENCE_MS = 30_000

/** A worker asks for the server's health after this many connections, and at the end. */
const HEALTH_EVERY = 50

/** Sends bytes that are not, or not quite, HTTP to a server. What comes back must be, and the server must stay well. */
export async function fuzzSockets(options: SocketOptions): Promise<Finding | null> {
  const { templates, requests, seed, workers, address } = options
  const finding = await inWorkers(
    workers,
    { seed, requests, arbitrary: rawCase(templates) },
    () => new Sockets(address),
  )
  if (finding === null) await isWell(address)
  return finding
}

class Sockets implements Disposable {
  readonly #address: string
  #count = 0

  constructor(address: string) {
    this.#address = address
  }

  async run(raw: RawCase): Promise<void> {
    const bytes = Buffer.from(raw.bytes, 'latin1')
    try {
      const responses = await this.#exchange(bytes, raw)
      for (const response of responses) checkRaw(response, raw)
      const ids = responses.map(response => field(response, 'x-request-id'))
      if (raw.ids.length > 0 && ids.join() !== raw.ids.join()) throw new Error(`answers to ${ids.join()}`)
      this.#count += 1
      if (this.#count % HEALTH_EVERY === 0) await isWell(this.#address)
    } catch (error) {
      throw new FoundError(bytes, error)
    }
  }

  [Symbol.dispose](): void {}

  async #exchange(bytes: Buffer, { pauseAt, answersMax, ids }: RawCase): Promise<RawResponse[]> {
    using connection = new Connection(this.#address)
    connection.send(bytes.subarray(0, pauseAt))
    if (pauseAt < bytes.length) {
      await new Promise(resolve => setTimeout(resolve, 1))
      connection.send(bytes.subarray(pauseAt))
    }
    const responses: RawResponse[] = []
    for (;;) {
      // To a HEAD, the first answer has no body. If that was another request, reading on would fail.
      const isHead = /^HEAD /.test(bytes.toString('latin1'))
      const isMore = responses.length < ids.length
      const response = await nextResponse(connection, { isHead, patienceMs: isMore ? PATIENCE_MS : QUIET_MS })
      if (!response) return responses
      responses.push(response)
      if (isHead) return responses
      if (responses.length > answersMax) throw new Error(`${responses.length} answers`)
    }
  }
}

async function isWell(address: string): Promise<void> {
  using connection = new Connection(address)
  connection.send(Buffer.from(asText({ method: 'GET', target: '/healthz' })))
  const response = await connection.read({ isHead: false, patienceMs: PATIENCE_MS })
  if (response?.status !== 200) throw new Error(`/healthz was answered with ${response?.status}`)
}

/** The runtime refuses what comes behind a request even in the middle of the answer to it, and closes the connection. */
const CUT_OFF = /HTTP\/1\.1 (400|431|505) [A-Za-z ]+\r\nConnection: close\r\n\r\n$/

async function nextResponse(
  connection: Connection,
  options: { isHead: boolean; patienceMs: number },
): Promise<RawResponse | null> {
  try {
    return await connection.read(options)
  } catch (error) {
    if (error instanceof MalformedResponseError && CUT_OFF.test(connection.unread.toString('latin1'))) return null
    throw error
  }
}

function checkRaw(response: RawResponse, { bytes }: RawCase): void {
  const { status, body } = response
  const id = field(response, 'x-request-id')
  // The runtime says so itself, in place of an answer, if the first line names no version that it knows.
  const isVersion = status === 505 && id === undefined
  if (status >= 500 && !isVersion) throw new Error(`status ${status}: ${body}`)
  if (id === SMUGGLED_ID && bytes.includes(SMUGGLED)) throw new Error('a request in a body was answered')
  if (id === undefined) {
    if (body.length > 0 || ![100, 400, 431, 505].includes(status)) throw new Error(`status ${status} without an id`)
    return
  }
  if (field(response, 'x-content-type-options') !== 'nosniff') throw new Error('an answer whose type may be guessed')
  const type = field(response, 'content-type') ?? ''
  if (body.length > 0 && type === '') throw new Error('a body without a type')
  if (body.length > 0 && type.startsWith('application/json'))
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
}
