import type { Awaitable } from '../awaitable.ts'
import { type Clock, systemClock } from '../clock.ts'
import { BusyError, ClientLimitError } from '../limits/busy-error.ts'
import { type BudgetFigures, ByteBudget } from '../limits/byte-budget.ts'
import { ownTurns, sharedTurns } from '../limits/own-turns.ts'
import { Tally } from '../limits/tally.ts'
import { HttpError } from './errors.ts'

/** Smaller bodies are bounded by the number of requests that may wait. */
const SMALL_BYTES = 65_536

/** Bodies are read in pieces of at most this length, one in each turn of the event loop: a thousand lines take 10 ms. */
const PIECE_BYTES = 65_536

/** Whole bodies share a turn of the event loop for this long. A MiB of nothing but brackets takes 0.3 s. */
const TURN_MS = 5

/** This much of a body that is read as it arrives, or the rest of it, must arrive within this time of waiting for it. */
const LEAST_BYTES = 163_840
const LEAST_MS = 10_000

interface RequestBodiesOptions {
  /** Limit on one body. */
  readonly bodyMaxBytes: number
  /** Limit on the bodies that count, of all requests in progress, which may be queued for a commit, a statement or a hash. */
  readonly maxBytes: number
  /** Limit on the bodies of one client; none by default. With this limit, small bodies count, too. */
  readonly clientMaxBytes?: number
  readonly clock?: Clock
}

/** The memory for request bodies. A large one counts from before its first byte until its request is answered. */
export class RequestBodies {
  readonly bodyMaxBytes: number
  readonly clock: Clock
  /** For one piece of one body. */
  readonly ownTurn = ownTurns()
  /** For whole bodies. */
  readonly turn = sharedTurns(TURN_MS)
  readonly #budget: ByteBudget
  readonly #clientMaxBytes: number | null
  readonly #ofClients = new Tally()

  constructor({ bodyMaxBytes, maxBytes, clientMaxBytes, clock = systemClock }: RequestBodiesOptions) {
    this.bodyMaxBytes = bodyMaxBytes
    this.clock = clock
    this.#budget = new ByteBudget(maxBytes)
    this.#clientMaxBytes = clientMaxBytes ?? null
  }

  get figures(): BudgetFigures {
    return this.#budget.figures
  }

  /**
   * Answers a request with a body. One that is too long is rejected with an `HttpError` 413, before it is read if its length is
   * declared, one with several lengths with 400, and an encoded one with 415. Rejects with a `BusyError` if the limit is reached.
   * The body counts for `client`.
   */
  answering(
    request: Request,
    answer: (body: RequestBody) => Awaitable<Response>,
    client: string | null = null,
  ): Awaitable<Response> {
    refuseEncodedBody(request.headers)
    const declared = request.headers.get('Content-Length')
    const bytes = declared === null ? null : Number(declared)
    // The runtime joins equal headers with a comma. The length that they have would bound nothing, and would count as NaN.
    if (Number.isNaN(bytes)) throw new HttpError(400, 'There are several Content-Length headers')
    if (bytes !== null && bytes > this.bodyMaxBytes) throw this.tooLarge()
    const body = new RequestBody(this, request, client)
    if (this.#clientMaxBytes === null && bytes !== null && bytes <= SMALL_BYTES) return answer(body)
    if (this.#clientMaxBytes !== null || bytes !== null) body.hold(Math.max(bytes ?? 0, SMALL_BYTES))
    return this.#answerHolding(body, answer)
  }

  async #answerHolding(body: RequestBody, answer: (body: RequestBody) => Awaitable<Response>): Promise<Response> {
    using _ = body
    return await answer(body)
  }

  /** Counts bytes until the result is disposed of. */
  hold(bytes: number, client: string | null): Disposable {
    const isOverShare =
      client !== null && this.#clientMaxBytes !== null && this.#ofClients.of(client) + bytes > this.#clientMaxBytes
    if (isOverShare) throw new ClientLimitError('Too many large requests of this client are under way')
    if (this.#budget.isSpent) throw new BusyError('Too many large requests are under way')
    this.#budget.hold(bytes)
    const share = client === null ? null : this.#ofClients.add(client, bytes)
    return {
      [Symbol.dispose]: () => {
        share?.[Symbol.dispose]()
        this.#budget.release(bytes)
      },
    }
  }

  tooLarge(): HttpError {
    return new HttpError(413, `The body is larger than ${this.bodyMaxBytes} bytes`)
  }
}

/** The body of a request. It may be read once. */
export class RequestBody implements Disposable {
  readonly #bodies: RequestBodies
  readonly #request: Request
  readonly #client: string | null
  readonly #held: Disposable[] = []
  #heldBytes = 0

  constructor(bodies: RequestBodies, request: Request, client: string | null) {
    this.#bodies = bodies
    this.#request = request
    this.#client = client
  }

  hold(bytes: number): void {
    this.#held.push(this.#bodies.hold(bytes, this.#client))
    this.#heldBytes += bytes
  }

  [Symbol.dispose](): void {
    for (const held of this.#held) held[Symbol.dispose]()
  }

  /** Resolves in a turn that has time for the body. The runtime reads a declared length faster than a stream, and has a least rate. */
  async bytes(): Promise<Uint8Array> {
    const isDeclared = this.#request.headers.has('Content-Length')
    const bytes = isDeclared ? await this.#request.bytes() : Buffer.concat(await Array.fromAsync(this.#arriving()))
    await this.#bodies.turn()
    return bytes
  }

  /** Its pieces, and then its end, each in a turn of its own. Rejects like `#arriving`. */
  async *chunks(): AsyncGenerator<Uint8Array> {
    for await (const arrived of this.#arriving()) {
      for (let start = 0; start < arrived.length; start += PIECE_BYTES) {
        await this.#bodies.ownTurn()
        yield arrived.subarray(start, start + PIECE_BYTES)
      }
    }
    // A last line without a line feed is read now.
    await this.#bodies.ownTurn()
  }

  /** Rejects with an `HttpError` 408 if it arrives too slowly. The time between two reads does not count. */
  async *#arriving(): AsyncGenerator<Uint8Array> {
    const { clock, bodyMaxBytes } = this.#bodies
    const reader = this.#request.body?.getReader()
    if (!reader) return
    let arrived = 0
    let leftMs = LEAST_MS
    let missing = LEAST_BYTES
    try {
      for (;;) {
        const tooSlow = Promise.withResolvers<never>()
        const since = clock.now()
        const cancel = clock.after(leftMs, () => tooSlow.reject(new HttpError(408, 'The body arrives too slowly')))
        const { value, done } = await Promise.race([reader.read(), tooSlow.promise]).finally(cancel)
        if (done) return
        leftMs -= clock.now() - since
        missing -= value.length
        if (missing <= 0) {
          leftMs = LEAST_MS
          missing = LEAST_BYTES
        }
        arrived += value.length
        if (arrived > bodyMaxBytes) throw this.#bodies.tooLarge()
        if (arrived > SMALL_BYTES && arrived > this.#heldBytes) this.hold(arrived - this.#heldBytes)
        yield value
      }
    } finally {
      // If it was not read to its end, nobody wants the rest.
      reader.cancel().catch(() => {})
    }
  }
}

/** Throws a 415 for a compressed or otherwise encoded body: it would be read as if it were not encoded. */
function refuseEncodedBody(headers: Headers): void {
  const codings = headers.get('Content-Encoding')
  if (codings === null || /^[\s,]*(identity[\s,]*)*$/i.test(codings)) return
  // The header tells the client which codings are accepted (RFC 9110, 15.5.16).
  throw new HttpError(415, 'The body is encoded; send it as it is', { 'Accept-Encoding': 'identity' })
}
