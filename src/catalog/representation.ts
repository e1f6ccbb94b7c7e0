/** One resource as a response body. */
export interface Representation {
  /** All of it as JSON; of a heavy one, as much of its beginning as is held in memory at once. */
  readonly json: string
  /** If the embedded array was cut: the id of its last item. `null` if it is whole, or there is none. */
  readonly cutAfterId: number | null
  /** Of a heavy one: reads what follows, piece by piece. */
  readonly rest?: () => AsyncIterable<string>
  /** Of one that is held in memory: to be called when nobody reads on. */
  readonly release?: () => void
  /** Of one that is in the cache. */
  readonly kept?: Kept
}

/** What was made of a response body, to be kept for as long as the body stays as it is. */
export interface Kept {
  tag?: string
}
