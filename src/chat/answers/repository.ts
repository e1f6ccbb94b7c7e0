/**
 * How an answer ended.
 *
 * - `finished`: the model said all it had to say
 * - `stopped`: its reader did not want more
 * - `unheard`: nobody listened any longer
 * - `failed`: the model broke off, or did not begin; the reason is for the reader
 * - `interrupted`: the process that asked the model ended
 */
export type Ending =
  | { readonly state: 'finished' | 'stopped' | 'unheard' | 'interrupted' }
  | { readonly state: 'failed'; readonly reason: string }

export interface StoredAnswer {
  /** What came of it so far. */
  readonly text: string
  /** `null` while it is under way. */
  readonly ending: Ending | null
  /** Whether it is still in line for the model. */
  readonly isWaiting: boolean
  /** Whether somebody has asked that it be stopped. */
  readonly stopAsked: boolean
  /** When the process that asks the model last said that it is alive, in milliseconds since 1970. */
  readonly aliveAt: number
  /** When somebody last listened in another process, or the answer began, in milliseconds since 1970. */
  readonly heardAt: number
}

/** What a store of answers must do, for several processes at once. A write is on the disk when it resolves. */
export interface AnswerRepository {
  /** Makes the answer to this prompt the caller's: true for exactly one caller, in whichever process. */
  claim(reqId: string): Promise<boolean>
  /** Gives a claim back of which nothing has come, so that another may claim it. */
  release(reqId: string): Promise<void>
  /** `null` when nobody has claimed it. */
  find(reqId: string): Promise<StoredAnswer | null>
  /** Says that whoever claimed it is alive, and keeps what came so far. */
  keep(reqId: string, text: string, isWaiting: boolean): Promise<void>
  /** Ends an answer that is under way; of several endings the first one stands. */
  end(reqId: string, text: string, ending: Ending): Promise<void>
  /** Asks whoever claimed it to stop it, for good; one that nobody has claimed ends at once. */
  askToStop(reqId: string): Promise<void>
  /** Says that somebody listens. */
  hear(reqId: string): Promise<void>
  /** Ends as interrupted what is under way and was last alive before `aliveBefore`, in milliseconds since 1970. */
  interruptDead(aliveBefore: number): Promise<void>
}
