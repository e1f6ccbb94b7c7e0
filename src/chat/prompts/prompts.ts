import { type Clock, systemClock } from '../../clock.ts'
import { shared } from '../../shared.ts'
import type { PromptRepository, SentPrompt } from './repository.ts'
import { RECENT_MS, RECENT_UNANSWERED_MS, type Retention } from './retention.ts'

/** After a failed attempt to make room, the next one comes no sooner than this. */
const FULL_MS = 1_000

/** The share of all prompts that is deleted at a time to make room. */
const ROOM_SHARE = 1 / 100

/** More prompts than there are. */
const ALL = Number.MAX_SAFE_INTEGER

/** After a step ahead of the store's clock, ages grow at most this many times as fast as real time. */
const AGING_MAX = 2

/** `full`: the limit for all clients together is reached. */
export type PromptRefusal = 'full' | 'too many of this address'

/** Stores prompts within the limits, and deletes old ones. */
export class Prompts {
  readonly #repository: PromptRepository
  readonly #retention: Retention
  readonly #clock: Clock
  /** The number of prompts that still fit before they must be counted again. Other processes add prompts too. */
  #room = 0
  #fullUntil = Number.NEGATIVE_INFINITY
  /** The last time that ages were measured by, and when that was by the monotonic clock. */
  #last: { readonly time: number; readonly at: number } | null = null

  constructor(repository: PromptRepository, retention: Retention, clock: Clock = systemClock) {
    this.#repository = repository
    this.#retention = retention
    this.#clock = clock
  }

  find(reqId: string): Promise<string | null> {
    return this.#repository.find(reqId)
  }

  /** Stores a prompt as `PromptRepository.store` does. */
  async post(prompt: SentPrompt): Promise<{ readonly text: string } | PromptRefusal> {
    if (this.#room <= 0) await this.#makeRoom()
    const hasRoom = this.#room > 0
    this.#room -= 1
    const text = await this.#repository.store(prompt, hasRoom ? this.#retention.perAddressMax : 0)
    if (text !== null) return { text }
    this.#room += 1
    // Another process may have stored it at the same moment.
    const stored = await this.#repository.find(prompt.reqId)
    if (stored !== null) return { text: stored }
    return hasRoom ? 'too many of this address' : 'full'
  }

  /** Deletes prompts that are too old, and counts the rest. Call it from time to time. */
  async prune(): Promise<void> {
    const now = await this.#now()
    await upTo(ALL, max => this.#repository.deleteOldest(now - this.#retention.ageMaxMs, max))
    await upTo(ALL, () => this.#repository.removeAddresses(now - RECENT_MS))
    await this.#makeRoom()
  }

  async #makeRoom(): Promise<void> {
    if (this.#clock.now() >= this.#fullUntil) await this.#countAndDelete()
  }

  readonly #countAndDelete = shared(async () => {
    const { promptsMax } = this.#retention
    const count = await this.#repository.count()
    const excess = count - promptsMax
    this.#room = -excess
    if (excess < 0) return
    const now = await this.#now()
    const wanted = excess + Math.ceil(promptsMax * ROOM_SHARE)
    let deleted = await upTo(wanted, max => this.#repository.deleteUnanswered(now - RECENT_UNANSWERED_MS, max))
    deleted += await upTo(wanted - deleted, max => this.#repository.deleteOldest(now - RECENT_MS, max))
    this.#room = deleted - excess
    if (this.#room <= 0) this.#fullUntil = this.#clock.now() + FULL_MS
  })

  /**
   * Follows the store's clock, but catches up slowly after a step ahead. So prompts are kept for at least half of their time,
   * even if the clock steps. The first time is taken as it is.
   */
  async #now(): Promise<number> {
    const time = await this.#repository.time()
    const at = this.#clock.now()
    const latest = this.#last ? this.#last.time + AGING_MAX * (at - this.#last.at) : time
    this.#last = { time: Math.min(time, latest), at }
    return this.#last.time
  }
}

/** Calls until that many are deleted or nothing is left. Resolves to the number deleted. */
async function upTo(wanted: number, deleteSome: (max: number) => Promise<number>): Promise<number> {
  let deleted = 0
  while (deleted < wanted) {
    const some = await deleteSome(wanted - deleted)
    if (some === 0) break
    deleted += some
  }
  return deleted
}
