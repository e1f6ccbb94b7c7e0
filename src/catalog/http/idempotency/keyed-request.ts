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

/** Gives the first answer to a request with an `Idempotency-Key` again. */
export type Idempotency = ReturnType<typeof idempotencyOf>

export function idempotencyOf(store: KeyStore, space: AnswerSpace) {
  // Read once, because a database never gets another one.
  const secret = once(() => store.secret())
  const keys: Keys = { store, space, running: new Set() }
  return {
    /** Begins a request with this header. Resolves to the response if the header has no key. */
    begin: async (header: string, scope: RequestScope, form: Form): Promise<KeyedRequest | Response> => {
      const sent = keyIn(header)
      if (sent === null) return invalid([UNREADABLE])
      // Each access key has keys of its own, so that nobody gets a stranger's answers.
      const owned = `${scope.key?.name ?? ''}\n${sent}`
      const hash = new Bun.CryptoHasher('sha256', await secret()).update(owned).digest()
      const fingerprint = new Bun.CryptoHasher('sha256', hash.subarray(HASH_HALF_BYTES))
      const { route, parameters } = scope.matched
      fingerprint.update(`${form.mediaType} ${route} ${JSON.stringify(parameters)}\n`)
      const key = hash.subarray(0, HASH_HALF_BYTES).toString('base64url')
      return keyedRequest(keys, key, fingerprint, form)
    },
  }
}

/** The state that all requests with a key share. */
interface Keys {
  readonly store: KeyStore
  readonly space: AnswerSpace
  /** The keys of requests in progress, in this process. */
  readonly running: Set<string>
}

export type KeyedRequest = ReturnType<typeof keyedRequest>

function keyedRequest({ store, space, running }: Keys, key: string, fingerprint: Bun.CryptoHasher, { respond }: Form) {
  let made: Claim | null = null
  /** The claim that the handler stores with the answer. Needs the body. */
  const claim = (): Claim => {
    made ??= { key, fingerprint: fingerprint.digest('base64url'), stored: space.add }
    return made
  }

  /** Needs the body. */
  const replay = (kept: KeptAnswer): Response => {
    if (kept.fingerprint !== claim().fingerprint) return invalid([USED_BEFORE])
    const response = respond(kept)
    response.headers.set(IDEMPOTENCY_REPLAYED, 'true')
    return response
  }

  return {
    claim,
    replay,
    /** Adds a piece of the body, and returns it. Members that need the body may be used after the last piece. */
    update: (bytes: Uint8Array): Uint8Array => {
      fingerprint.update(bytes)
      return bytes
    },
    /** The answer to an earlier request with this key. */
    kept: () => store.find(key),
    /** Answers the first request with this key. */
    first: async (answer: () => Awaitable<Response>): Promise<Response> => {
      if (running.has(key)) {
        const retryAfter = { 'Retry-After': String(RETRY_SECONDS) }
        throw new HttpError(409, 'Another request with this Idempotency-Key is in progress', retryAfter)
      }
      running.add(key)
      try {
        await space.mustBeLeft()
        const response = await answer()
        if (response.ok) return response
        // Another process may have kept its answer since the key was looked for, and what the request refers to be gone since.
        const kept = await store.find(key)
        return kept ? replay(kept) : response
      } catch (error) {
        if (!(error instanceof KeyTakenError)) throw error
        // The answer of another process. It may not be on the disk yet, and finding it waits for that.
        return replay((await store.find(error.key)) ?? error.kept)
      } finally {
        running.delete(key)
      }
    },
  }
}
