import type { Awaitable } from '../../../awaitable.ts'
import { HttpError } from '../../../server/errors.ts'
import type { RequestScope } from '../../../server/requests.ts'
import { once } from '../../../shared.ts'
import { type Claim, type KeptAnswer, type KeyStore, KeyTakenError } from '../../storage/idempotency/keys.ts'
import type { AnswerSpace } from '../../storage/idempotency/space.ts'
import { invalid } from '../responses.ts'
import { IDEMPOTENCY_REPLAYED, keyIn, UNREADABLE, USED_BEFORE } from './header.ts'

/** Clients should wait this long before they repeat a request that is still running. */
const RETRY_SECONDS = 1

/** Half of the hash of a key finds its answer. The other half is stored nowhere, and fingerprints the request. */
const HASH_HALF_BYTES = 16

/** The format of an operation's bodies and answers. */
interface Form {
  readonly mediaType: string
  readonly respond: (kept: KeptAnswer) => Response
}

/** The state that all requests with a key share. */
interface Keys {
  readonly store: KeyStore
  readonly space: AnswerSpace
  /** The keys of requests in progress, in this process. */
  readonly running: Set<string>
}

/** Gives the first answer to a request with an `Idempotency-Key` again. */
export class Idempotency {
  readonly #keys: Keys
  /** Read once, because a database never gets another one. */
  readonly #secret: () => Promise<string>

  constructor(store: KeyStore, space: AnswerSpace) {
    this.#keys = { store, space, running: new Set() }
    this.#secret = once(() => store.secret())
  }

  /** Begins a request with this header. Resolves to the response if the header has no key. */
  async begin(header: string, scope: RequestScope, form: Form): Promise<KeyedRequest | Response> {
    const sent = keyIn(header)
    if (sent === null) return invalid([UNREADABLE])
    // Each access key has keys of its own, so that nobody gets a stranger's answers.
    const owned = `${scope.key?.name ?? ''}\n${sent}`
    const hash = new Bun.CryptoHasher('sha256', await this.#secret()).update(owned).digest()
    const fingerprint = new Bun.CryptoHasher('sha256', hash.subarray(HASH_HALF_BYTES))
    const { route, parameters } = scope.matched
    fingerprint.update(`${form.mediaType} ${route} ${JSON.stringify(parameters)}\n`)
    const key = hash.subarray(0, HASH_HALF_BYTES).toString('base64url')
    return new KeyedRequest(this.#keys, key, fingerprint, form)
  }
}

export class KeyedRequest {
  readonly #keys: Keys
  readonly #key: string
  readonly #fingerprint: Bun.CryptoHasher
  readonly #form: Form
  #claim: Claim | null = null

  constructor(keys: Keys, key: string, fingerprint: Bun.CryptoHasher, form: Form) {
    this.#keys = keys
    this.#key = key
    this.#fingerprint = fingerprint
    this.#form = form
  }

  /** Adds a piece of the body, and returns it. Members that need the body may be used after the last piece. */
  readonly update = (bytes: Uint8Array): Uint8Array => {
    this.#fingerprint.update(bytes)
    return bytes
  }

  /** The answer to an earlier request with this key. */
  kept(): Awaitable<KeptAnswer | null> {
    return this.#keys.store.find(this.#key)
  }

  /** Needs the body. */
  replay(kept: KeptAnswer): Response {
    if (kept.fingerprint !== this.claim.fingerprint) return invalid([USED_BEFORE])
    const response = this.#form.respond(kept)
    response.headers.set(IDEMPOTENCY_REPLAYED, 'true')
    return response
  }

  /** The claim that the handler stores with the answer. Needs the body. */
  get claim(): Claim {
    const { space } = this.#keys
    this.#claim ??= { key: this.#key, fingerprint: this.#fingerprint.digest('base64url'), stored: space.add }
    return this.#claim
  }

  /** Answers the first request with this key. */
  async first(answer: () => Awaitable<Response>): Promise<Response> {
    const { store, space, running } = this.#keys
    if (running.has(this.#key)) {
      const retryAfter = { 'Retry-After': String(RETRY_SECONDS) }
      throw new HttpError(409, 'Another request with this Idempotency-Key is in progress', retryAfter)
    }
    running.add(this.#key)
    try {
      await space.mustBeLeft()
      return await answer()
    } catch (error) {
      if (!(error instanceof KeyTakenError)) throw error
      // The answer of another process. It may not be on the disk yet, and finding it waits for that.
      return this.replay((await store.find(error.key)) ?? error.kept)
    } finally {
      running.delete(this.#key)
    }
  }
}
