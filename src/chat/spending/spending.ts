import { ClientLimitError } from '../../limits/busy-error.ts'
import type { Usage } from '../../models/chat-model.ts'
import type { DailyBounds, SpendingRepository } from './repository.ts'

const DAY_MS = 86_400_000

/** The bound if a setting is not set. */
export const UNBOUNDED = Number.MAX_SAFE_INTEGER

/** The payer of an answer: an access key or, without one, a network. */
export interface Account {
  /** The stored name. */
  readonly id: string
  readonly kind: 'network' | 'key'
}

/** A bound that an account has reached. */
export interface ReachedBound {
  readonly account: Account['kind']
  readonly unit: 'answer' | 'token'
  readonly max: number
  /** The start of the next day, in milliseconds since 1970. */
  readonly endsAt: number
}

/** An answer that is counted. */
export interface Bill {
  /** Adds the tokens of the answer. If there are none, or the model was not asked (`null`), the answer is not counted. */
  settle(usage: Usage | null): Promise<void>
}

const FREE: Bill = { settle: async () => {} }

/** Counts what accounts spend, and lets none of them begin more than its bounds allow for a day. */
export class Spending {
  readonly #repository: SpendingRepository
  readonly #bounds: DailyBounds
  readonly #isBounded: boolean

  constructor(repository: SpendingRepository, bounds: DailyBounds) {
    this.#repository = repository
    this.#bounds = bounds
    this.#isBounded = bounds.answersMax !== UNBOUNDED || bounds.tokensMax !== UNBOUNDED
  }

  /**
   * Counts an answer that is about to begin. Throws a `ClientLimitError` if the account has reached a bound. Answers that have
   * begun may exceed the bound on tokens.
   */
  async begin(account: Account): Promise<Bill> {
    if (!this.#isBounded) return FREE
    const day = await this.#repository.begin(account.id, this.#bounds)
    if (day === null) {
      const reached = await this.reached(account)
      throw new ClientLimitError('The daily limit is reached', reached ? secondsUntil(reached) : 1)
    }
    return { settle: usage => this.#settle(account.id, day, usage) }
  }

  /** `null` if the account may begin an answer. */
  async reached({ id, kind }: Account): Promise<ReachedBound | null> {
    if (!this.#isBounded) return null
    const { day, answers, tokens } = await this.#repository.today(id)
    const { answersMax, tokensMax } = this.#bounds
    const bound = { account: kind, endsAt: (day + 1) * DAY_MS }
    if (answers >= answersMax) return { ...bound, unit: 'answer', max: answersMax }
    return tokens >= tokensMax ? { ...bound, unit: 'token', max: tokensMax } : null
  }

  /** Deletes the spending of former days, and with it the addresses. Call it from time to time. */
  async prune(): Promise<void> {
    await this.#repository.deleteOld()
  }

  async #settle(account: string, day: number, usage: Usage | null): Promise<void> {
    const tokens = usage === null ? 0 : usage.inputTokens + usage.outputTokens
    if (tokens === 0) await this.#repository.cancel(account, day)
    else await this.#repository.addTokens(account, day, tokens)
  }
}

/** `address` is a result of `addressKey`. */
export function accountOf(address: string, keyName: string | null): Account {
  return keyName === null ? { id: address, kind: 'network' } : { id: `key:${keyName}`, kind: 'key' }
}

/** For `Retry-After`. */
export function secondsUntil({ endsAt }: ReachedBound): number {
  return Math.max(1, Math.ceil((endsAt - Date.now()) / 1_000))
}
