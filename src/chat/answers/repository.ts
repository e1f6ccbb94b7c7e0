/**
 * The outcome of an answer.
 *
 * - `finished`: the model completed it
 * - `stopped`: a reader stopped it
 * - `unheard`: nobody was listening any more
 * - `failed`: the model failed; the reason is for the reader
 * - `interrupted`: the process that asked the model ended
 */
export type Ending =
  | { readonly state: 'finished' | 'stopped' | 'unheard' | 'interrupted' }
  | { readonly state: 'failed'; readonly reason: string }

export interface StoredAnswer {
  /** The text so far, from the requested offset on. */
  readonly text: string
  /** `null` while the answer is in progress. */
  readonly ending: Ending | null
  /** Whether the answer is still queued for the model. */
  readonly isWaiting: boolean
}

/** A part of an answer's text. */
export interface Piece {
  readonly text: string
  /** The length of the text before it, in Unicode code points. */
  readonly position: number
}

/** The state of an answer as other processes have changed it, for the process that claimed it. */
export interface HeartbeatReply {
  /** `null` while the answer is in progress. Another process may have declared its process dead. */
  readonly ending: Ending | null
  readonly stopRequested: boolean
  /** Differs from the previous reply if somebody has listened in another process since. */
  readonly heard: string
}

/** An answer that is in progress in some process. */
export interface InProgress {
  readonly reqId: string
  /** Differs from the previous one if the process has sent a heartbeat since. */
  readonly heartbeat: string
}

/**
 * The storage of answers, shared by several processes on machines whose clocks differ and may step. So it never compares
 * two times: a process checks whether a heartbeat changes, and measures with its own monotonic clock for how long it does
 * not. A write is on the disk when its promise resolves, to a result of any kind if none is described.
 */
export interface AnswerRepository {
  /**
   * Claims the answer to this prompt. Resolves to the prompt, which can no longer change, for exactly one caller among all
   * processes, and to `null` for the others.
   */
  claim(reqId: string): Promise<string | null>
  /** Gives up the claim of an answer that is still queued, so that another process can claim it. */
  release(reqId: string): Promise<unknown>
  /** Resolves to `null` if nobody has claimed the answer. `offset` skips text, in Unicode code points. */
  find(reqId: string, offset?: number): Promise<StoredAnswer | null>
  /**
   * Sends a heartbeat and stores the next piece of the text. If that fails, the same piece must be stored again before the
   * next one. Resolves to `null` if the answer has been deleted.
   */
  heartbeat(reqId: string, piece: Piece, isWaiting: boolean): Promise<HeartbeatReply | null>
  /**
   * Ends a claimed answer, and stores all its text. The first ending stands. An answer whose process was declared dead
   * still gets its text.
   */
  end(reqId: string, text: string, ending: Ending): Promise<unknown>
  /**
   * Asks the process that claimed the answer to stop it for good. An answer that nobody has claimed, or that is still queued,
   * ends at once.
   */
  requestStop(reqId: string): Promise<unknown>
  /** Tells the process that claimed the answer that somebody is listening. */
  reportListener(reqId: string): Promise<unknown>
  /** All answers in progress. Rejects if the store takes no writes, because then nobody can send heartbeats. */
  inProgress(): Promise<readonly InProgress[]>
  /** Ends an answer as interrupted if it is in progress and there was no heartbeat since this one. */
  interrupt(answer: InProgress): Promise<unknown>
}
