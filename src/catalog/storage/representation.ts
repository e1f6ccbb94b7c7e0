/** One resource as a response body. */
export interface Representation {
  /** The resource as JSON. */
  readonly json: string
  /** `null` if the nested array is complete, or if there is none. */
  readonly cut: Cut | null
  /** See `storage/revision.ts`. */
  readonly revision: number
}

/** The place at which a nested array was cut. */
export interface Cut {
  readonly shownItems: number
  /** The id of the last item shown. */
  readonly lastId: number
}
