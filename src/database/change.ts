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
