/** An account's limits for a day. */
export interface DailyBounds {
  readonly answersMax: number
  readonly tokensMax: number
}

/** An account's use of them today. */
interface Spent {
  /** Days since 1970, in UTC. */
  readonly day: number
  readonly answers: number
  readonly tokens: number
}

/**
 * Stores the spending of accounts, for all processes. Its clock decides which day it is. A write resolves to a result of any
 * kind if none is described.
 */
export interface SpendingRepository {
  /** Counts one more answer, unless the account has reached a bound: then it resolves to `null`, otherwise to the day. */
  begin(account: string, bounds: DailyBounds): Promise<number | null>
  /** Takes back an answer of that day. */
  cancel(account: string, day: number): Promise<unknown>
  /** Adds the tokens of an answer of that day. */
  addTokens(account: string, day: number, tokens: number): Promise<unknown>
  today(account: string): Promise<Spent>
  /** Deletes the days before today. */
  deleteOld(): Promise<unknown>
}
