/** What one account may spend in a day. */
export interface DailyBounds {
  readonly answersMax: number
  readonly tokensMax: number
}

/** What an account has spent today. */
export interface Spent {
  /** Days since 1970, in UTC. */
  readonly day: number
  readonly answers: number
  readonly tokens: number
}

/** The storage of what accounts spend, shared by all processes. Today is that of the store's clock. */
export interface SpendingRepository {
  /** Counts one more answer, unless the account has reached a bound: then it resolves to `null`, otherwise to the day. */
  begin(account: string, bounds: DailyBounds): Promise<number | null>
  /** Takes back an answer of that day. */
  cancel(account: string, day: number): Promise<void>
  /** Adds the tokens of an answer of that day. */
  addTokens(account: string, day: number, tokens: number): Promise<void>
  today(account: string): Promise<Spent>
  /** Deletes the days before today. */
  deleteOld(): Promise<void>
}
