/** Times are of `performance.now()` in the one process that runs all clients, so they can be compared. */
interface Timed {
  /** Each client has one request under way at most. */
  readonly client: number
  readonly invokedAt: number
}

/** A write, with the value it stores. */
export interface Write<Value> extends Timed {
  readonly key: string
  readonly value: Value
  /** `null` when no answer came: the write may have been done, also later. */
  readonly acknowledgedAt: number | null
  /** The address that it was sent to, for reports of violations. */
  readonly source: string
}

/** A read that was answered. */
export interface Read<Value> extends Timed {
  readonly key: string
  readonly value: Value
  readonly completedAt: number
  /** Where it was read: shown when it is wrong. */
  readonly source: string
}

/** Writes and reads of values that only grow. One client writes each value, and expects the version of its last write. */
export interface Registers {
  readonly writes: Write<number>[]
  readonly reads: Read<number>[]
}

/** The appends of all clients to lists that only get longer, and their reads of them. */
export interface Lists {
  readonly appends: Write<string>[]
  readonly reads: Read<readonly string[]>[]
}

/** A client that pages through a list by `after_id` while it grows. */
export interface Follower {
  readonly source: string
  /** All ids it was shown, in that order. */
  readonly ids: number[]
}

/** The ids of items that were created and never deleted. */
export interface Followed {
  readonly followers: readonly Follower[]
  readonly acknowledgedIds: readonly number[]
}
