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
  /** What came of it so far, beyond what is known to who asks. */
  readonly text: string
  /** `null` while it is under way. */
  readonly ending: Ending | null
  /** Whether it is still in line for the model. */
  readonly isWaiting: boolean
}

/** A part of an answer's text. */
export interface Piece {
  readonly text: string
  /** What stands before it, in Unicode code points. */
  readonly position: number
}

/** What other processes want of an answer, to be read by the one that claimed it. */
export interface Wishes {
  /** `null` while it is under way. It may have been taken for dead. */
  readonly ending: Ending | null
  /** Whether somebody has asked that it be stopped. */
  readonly stopAsked: boolean
  /** Differs from the one before when somebody has listened in another process since. */
  readonly heard: string
}

/** An answer that is under way in some process. */
interface UnderWay {
  readonly reqId: string
  /** Differs from the one before when the process has sent a heartbeat since. */
  readonly heartbeat: string
}

/**
 * What a store of answers must do, for several processes at once, on machines whose clocks differ and may step. So no two
 * times are compared: a process watches whether a sign of life changes, and measures how long it does not by its own
 * monotonic clock. A write is on the disk when it resolves.
 */
export interface AnswerRepository {
  /** Makes the answer to this prompt the caller's: true for exactly one caller, in whichever process. */
  claim(reqId: string): Promise<boolean>
  /** Gives a claim back of which nothing has come, so that another may claim it. */
  release(reqId: string): Promise<void>
  /** `null` when nobody has claimed it. `known` is what is known of its text already, in Unicode code points. */
  find(reqId: string, known?: number): Promise<StoredAnswer | null>
  /**
   * Sends the heartbeat of whoever claimed it, and keeps one more piece of what came. A piece whose keeping failed is
   * kept again before the next one, the same. `null` when the answer is not there.
   */
  keep(reqId: string, piece: Piece, isWaiting: boolean): Promise<Wishes | null>
  /**
   * Ends an answer for who claimed it, with all its text. Of several endings the first one stands; one that was taken for
   * dead gets its text all the same.
   */
  end(reqId: string, text: string, ending: Ending): Promise<void>
  /** Asks whoever claimed it to stop it, for good; one that nobody has claimed ends at once. */
  askToStop(reqId: string): Promise<void>
  /** Says that somebody listens. */
  hear(reqId: string): Promise<void>
  /**
   * All answers that are under way. Resolves only if the store takes writes: where nobody can send a heartbeat, nobody is
   * dead for lack of one.
   */
  underWay(): Promise<readonly UnderWay[]>
  /** Ends an answer as interrupted, if it is under way and there was no heartbeat since this one. */
  interrupt(answer: UnderWay): Promise<void>
}
