import { setTimeout as sleep } from 'node:timers/promises'
import { checkAnswer, type Described, field } from './answers.ts'
import { Connection, type RawResponse } from './connection.ts'
import { type Filled, fill, linesOf } from './expected.ts'
import { type Kind, Pool } from './pool.ts'
import type { Planned } from './requests.ts'

/** Longer than any answer takes, even while passwords are hashed and the machine is busy. */
const PATIENCE_MS = 60_000

const TRIES_MAX = 5

/** More rows of one kind are deleted again, so that lists stay short. */
const ROWS_MAX = 20

/** A request, and what was wrong with its answer. */
export class FoundError extends Error {
  override name = 'FoundError'

  constructor(bytes: Buffer, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    super(`${reason}\nrequest, as a JSON string of bytes:\n${JSON.stringify(bytes.toString('latin1'))}`, { cause })
  }
}

/** Sends described requests one after the other, on a connection that stays open. */
export class Session implements Disposable {
  readonly #address: string
  readonly #described: ReadonlyMap<string, Described>
  readonly #pool = new Pool()
  readonly #statuses: Map<number, number>
  #connection: Connection
  #etag = '"none"'

  constructor(address: string, described: ReadonlyMap<string, Described>, statuses: Map<number, number>) {
    this.#address = address
    this.#described = described
    this.#statuses = statuses
    this.#connection = new Connection(address)
  }

  /** Rejects with a `FoundError` if the answer is not as described. */
  async run(planned: Planned): Promise<void> {
    const request = fill(planned, { pool: this.#pool, etag: this.#etag })
    try {
      await this.#send(request)
    } catch (error) {
      this.#reconnect()
      throw new FoundError(request.bytes, error)
    }
    await this.#trim()
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]()
  }

  async #send(request: Filled): Promise<void> {
    const { operation } = request.planned
    const response = await this.#answered(request)
    const described = this.#described.get(operation.operationId)
    if (!described) throw new Error(`${operation.operationId} is not described`)
    const value = checkAnswer(request, response, described)
    if (field(response, 'idempotency-replayed') !== undefined) throw new Error('the first answer says that it is not')
    if (response.status === 200 && /^Idempotency-Key:/m.test(request.bytes.toString('latin1'))) {
      const again = await this.#exchange(request.bytes, false)
      const isSame = again.status === 200 && again.body.equals(response.body)
      if (!isSame || !field(again, 'idempotency-replayed')) throw new Error(`repeated: ${again.status} ${again.body}`)
    }
    this.#etag = field(response, 'etag') ?? this.#etag
    if (response.status === 200) this.#note(request, Object(value))
  }

  /** On a machine that is busy with other things, writes may wait for too long. Then the server says when to try again. */
  async #answered({ bytes, method }: Filled): Promise<RawResponse> {
    for (let tries = 1; ; tries += 1) {
      const response = await this.#exchange(bytes, method === 'HEAD')
      this.#statuses.set(response.status, (this.#statuses.get(response.status) ?? 0) + 1)
      const seconds = response.status === 503 ? field(response, 'retry-after') : undefined
      if (seconds === undefined || tries === TRIES_MAX) return response
      await sleep(Number(seconds) * 1_000)
    }
  }

  async #exchange(bytes: Buffer, isHead: boolean) {
    if (!this.#connection.isOpen) this.#reconnect()
    this.#connection.send(bytes)
    const response = await this.#connection.read({ isHead, patienceMs: PATIENCE_MS })
    if (!response) throw new Error(this.#connection.isOpen ? 'no answer in time' : 'closed without an answer')
    if (this.#connection.unread.length > 0)
      throw new Error(`more than an answer: ${this.#connection.unread.toString()}`)
    if (field(response, 'connection') === 'close') this.#reconnect()
    return response
  }

  #reconnect(): void {
    this.#connection[Symbol.dispose]()
    this.#connection = new Connection(this.#address)
  }

  /** Keeps the pool as the store is. */
  #note({ planned: { operation }, isBulk, body }: Filled, value: Record<string, unknown>): void {
    const kind = kindOf(operation.path)
    if (operation.method === 'DELETE') {
      this.#pool.remove(kind, Number(value.id))
    } else if (isBulk) {
      const lines = linesOf(body ?? Buffer.alloc(0)).filter(line => line.toString().trim() !== '')
      const ids: readonly number[] = JSON.parse(JSON.stringify(value.ids))
      for (const [index, id] of ids.entries()) this.#add(kind, { ...JSON.parse(String(lines[index])), id })
    } else if (operation.method === 'POST' || (operation.method === 'PATCH' && kind === 'reviews')) {
      // An update may refer a review to others. A read with chosen fields may not tell to which it refers.
      if (typeof value.id === 'number') this.#add(kind, value)
    }
  }

  #add(kind: Kind, row: Record<string, unknown>): void {
    const id = Number(row.id)
    if (kind !== 'reviews') this.#pool.add(kind, id)
    else this.#pool.addReview({ id, productId: Number(row.product_id), userId: Number(row.user_id) })
  }

  async #trim(): Promise<void> {
    for (const kind of ['categories', 'products', 'users', 'reviews'] as const) {
      const [oldest, ...others] = this.#pool.ids(kind)
      if (oldest === undefined || others.length < ROWS_MAX) continue
      const request = `DELETE /${kind}/${oldest} HTTP/1.1\r\nHost: shop.example\r\n\r\n`
      const { status } = await this.#exchange(Buffer.from(request), false)
      if (status !== 200) throw new Error(`DELETE /${kind}/${oldest} was answered with ${status}`)
      this.#pool.remove(kind, oldest)
    }
  }
}

function kindOf(path: string): Kind {
  if (path.startsWith('/reviews')) return 'reviews'
  if (path.startsWith('/users')) return 'users'
  return path.startsWith('/products') ? 'products' : 'categories'
}
