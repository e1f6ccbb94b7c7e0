import { type Clock, systemClock } from '../../clock.ts'
import { KEEPING, type Keeping, RECENT_MS, RECENT_UNANSWERED_MS } from './keeping.ts'
import type { PromptRepository, SentPrompt } from './repository.ts'
import { SlewedTime } from './slewed-time.ts'

/** How long after one that found none is looked for room again. */
const FULL_MS = 1_000

/** How much room is made at once, as a share of all prompts. */
const ROOM_SHARE = 1 / 100

/** `full`: of all clients together. */
export type Refusal = 'full' | 'too many of this address'

/** Prompts, within their bounds: takes them in while there is room, and forgets what need not be kept. */
export class Prompts {
  readonly #repository: PromptRepository
  readonly #keeping: Keeping
  readonly #clock: Clock
  readonly #time = new SlewedTime()
  /** How many more may be taken until they are counted again, which other processes change, too. */
  #room = 0
  #fullUntil = Number.NEGATIVE_INFINITY
  #makingRoom: Promise<void> | null = null

  constructor(repository: PromptRepository, keeping: Keeping = KEEPING, clock: Clock = systemClock) {
    this.#repository = repository
    this.#keeping = keeping
    this.#clock = clock
  }

  find(reqId: string): Promise<string | null> {
    return this.#repository.find(reqId)
  }

  /** Stores a prompt; see `PromptRepository.keep`. Resolves to the text that stands. */
  async post(prompt: SentPrompt): Promise<{ readonly text: string } | Refusal> {
    if (this.#room <= 0) await this.#makeRoom()
    const hasRoom = this.#room > 0
    this.#room -= 1
    const kept = await this.#repository.keep(prompt, hasRoom ? this.#keeping.perAddressMax : 0)
    if (kept !== null) return { text: kept }
    this.#room += 1
    // Another process may have stored it at the same moment.
    const standing = await this.#repository.find(prompt.reqId)
    if (standing !== null) return { text: standing }
    return hasRoom ? 'too many of this address' : 'full'
  }

  /** To be called from time to time: forgets what is too old, and counts the rest. */
  async forget(): Promise<void> {
    const now = await this.#now()
    await all(() => this.#repository.forgetOldest(now - this.#keeping.ageMaxMs, Number.MAX_SAFE_INTEGER))
    await all(() => this.#repository.forgetAddresses(now - RECENT_MS))
    await this.#makeRoom()
  }

  /** Once for all who ask for it at the same time. */
  #makeRoom(): Promise<void> {
    if (this.#clock.now() < this.#fullUntil) return Promise.resolve()
    this.#makingRoom ??= this.#countAndForget().finally(() => {
      this.#makingRoom = null
    })
    return this.#makingRoom
  }

  async #countAndForget(): Promise<void> {
    const { promptsMax } = this.#keeping
    const count = await this.#repository.count()
    const excess = count - promptsMax
    this.#room = -excess
    if (excess < 0) return
    const now = await this.#now()
    const wanted = excess + Math.ceil(promptsMax * ROOM_SHARE)
    let forgotten = await upTo(wanted, max => this.#repository.forgetUnanswered(now - RECENT_UNANSWERED_MS, max))
    forgotten += await upTo(wanted - forgotten, max => this.#repository.forgetOldest(now - RECENT_MS, max))
    this.#room = forgotten - excess
    if (this.#room <= 0) this.#fullUntil = this.#clock.now() + FULL_MS
  }

  async #now(): Promise<number> {
    return this.#time.next(await this.#repository.time(), this.#clock.now())
  }
}

async function all(forgetSome: () => Promise<number>): Promise<void> {
  while ((await forgetSome()) > 0);
}

async function upTo(wanted: number, forgetSome: (max: number) => Promise<number>): Promise<number> {
  let forgotten = 0
  while (forgotten < wanted) {
    const some = await forgetSome(wanted - forgotten)
    if (some === 0) break
    forgotten += some
  }
  return forgotten
}
