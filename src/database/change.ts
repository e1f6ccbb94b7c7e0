import type { Awaitable } from '../awaitable.ts'

/** The ids that a row references, by column. */
export type References = Readonly<Record<string, number | null>>

/**
 * A row that was created, updated or deleted, with what it referenced: `before` is `null` if it is new, `after` if it is gone.
 * The rows that a foreign key changes or deletes with it have no events of their own.
 */
interface ChangedRow {
  readonly table: string
  readonly id: number
  readonly before: References | null
  readonly after: References | null
  /** Some of its values after the change, or before it was deleted. */
  readonly values?: Readonly<Record<string, string | number | null>>
  /** The rows that were deleted with it, if they have an event. */
  readonly gone?: GoneRows
}

/** Rows that a foreign key has deleted. */
export interface GoneRows {
  readonly count: number
  /** The ids of the other rows that they referenced, in ascending order; `null` if these are many. */
  readonly of: readonly number[] | null
}

/** Many new rows of one table. Ids between the first and the last may belong to other rows. */
export interface LoadedRows {
  readonly table: string
  readonly count: number
  readonly firstId: number
  readonly lastId: number
}

/** An event of the change log, which is the same JSON on both engines. The events of a transaction are in their order. */
export type Change = ChangedRow | LoadedRows

/** Called with the changes of commits. `unknown` stands for commits that do not say what they changed. */
export type ChangeListener = (changes: readonly Change[] | 'unknown') => void

/** Reads the change log. Each database is one. */
export interface ChangeSource {
  onChange(listener: ChangeListener): void
  /**
   * Tells the listener of every commit that was acknowledged before this call, then returns the result of `look`; `null` if
   * the database cannot know.
   */
  current<Result>(look: () => Result): Awaitable<Result | null>
}

/** A transaction in the change log. */
export interface LoggedTransaction {
  /** Rises in the order in which followers get transactions. */
  readonly position: number
  /** Random, so that another transaction at this position, after the restore of a backup, is not mistaken for this one. */
  readonly tag: number
  /** By the writer's clock, in milliseconds since 1970. */
  readonly time: number
  readonly changes: readonly Change[]
  /** Whether a follower may remember this position. One without changes is removed early. */
  readonly isLasting: boolean
}

/** A piece of the change log. */
export interface LoggedPiece {
  /** In their order. */
  readonly transactions: readonly LoggedTransaction[]
  /** Whether nothing followed when it was read. */
  readonly isEnd: boolean
}

/** The change log as followers read it: an order of transactions that never changes. */
export interface ChangeHistory {
  /** Makes sure that the log is not empty. Call it before the first change, whose events nobody could ask for otherwise. */
  begin(): Promise<void>
  /** The oldest transaction, which only marks the beginning: the events that are kept follow it. */
  first(): Promise<LoggedTransaction>
  /** The last transaction before which none will appear any more. */
  last(): Promise<LoggedTransaction>
  /** Reads on from a position, its own transaction included. */
  read(from: number): Promise<LoggedPiece>
  /** Removes the oldest transactions, but keeps the last `kept` events. Ends early if the signal aborts. */
  removeOld(kept: number, signal: AbortSignal): Promise<void>
}

/** Random, for the `tag`. */
export function newTag(): number {
  return 1 + Math.floor(Math.random() * 2 ** 32)
}

/** The number of events that the changes of a transaction have. */
export function eventCount(changes: readonly Change[]): number {
  let count = changes.length
  for (const change of changes) if ('gone' in change && change.gone) count += 1
  return count
}
