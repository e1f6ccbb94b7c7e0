import { bearerToken } from '../../access/bearer.ts'
import { digestOf } from '../../access/key.ts'
import type { KeyRing } from '../../access/key-ring.ts'
import { pause, systemClock } from '../../clock.ts'
import { byteStream } from '../../server/byte-stream.ts'
import { addressKey } from '../../server/client-address.ts'
import { EVENT_STREAM_HEADERS } from '../../server/event-stream.ts'
import type { RequestScope } from '../../server/requests.ts'
import type { Feed } from './feed.ts'
import type { EventFilter } from './filter.ts'
import { Follower } from './follower.ts'
import { SharedFrames, type Start } from './frames.ts'

/** The interval between looks at how long each follower has been silent. */
const CHECK_INTERVAL_MS = 1_000
/** After so many of them, the streams of revoked keys end. */
const LOOKS_PER_KEY_CHECK = 4

const HEADERS = { ...EVENT_STREAM_HEADERS, Vary: 'Accept' }

/** The streams of one process. */
export class Followers {
  readonly #frames: SharedFrames
  readonly #keys: KeyRing | null
  /** Each with the digest of its key, if it has one. */
  readonly #all = new Map<Follower, string | null>()
  #isChecking = false

  constructor(feed: Feed, keys: KeyRing | null) {
    this.#frames = new SharedFrames(feed)
    this.#keys = keys
    feed.stopping.addEventListener('abort', () => {
      for (const follower of [...this.#all.keys()]) follower.end()
    })
  }

  /** Streams events. `start` finds the place, after everything that was committed before has been read. */
  async stream(scope: RequestScope, filter: EventFilter, start: () => Promise<Start>): Promise<Response> {
    using held = new DisposableStack()
    held.use(scope.streaming.clients.open(addressKey(scope.clientAddress)))
    const follower = held.use(new Follower(this.#frames, filter, await start()))
    const token = scope.key && bearerToken(scope.request.headers)
    this.#all.set(follower, token && digestOf(token))
    held.defer(() => this.#all.delete(follower))
    if (!this.#isChecking) void this.#check()
    if (this.#frames.feed.stopping.aborted) follower.end()
    const body = byteStream(scope, () => follower.bytes(), held.move())
    return new Response(body, { headers: HEADERS })
  }

  /** Goes on while there are followers, until the process stops. */
  async #check(): Promise<void> {
    const { stopping } = this.#frames.feed
    this.#isChecking = true
    for (let looks = 1; this.#all.size > 0 && !stopping.aborted; looks += 1) {
      await pause(systemClock, CHECK_INTERVAL_MS, stopping)
      for (const [follower, digest] of [...this.#all]) {
        follower.checkTime()
        if (digest !== null && looks % LOOKS_PER_KEY_CHECK === 0) void this.#endIfRevoked(follower, digest)
      }
    }
    this.#isChecking = false
  }

  async #endIfRevoked(follower: Follower, digest: string): Promise<void> {
    // While the database is away, nobody can tell.
    const key = await Promise.resolve(this.#keys?.findDigest(digest)).catch(() => 'unknown')
    if (key === null) follower.end()
  }
}
