/** One resource as a response body, put together by the database, so that no row becomes an object on the way. */
export interface Representation {
  readonly json: string
  /** Where the embedded array was cut: the id of its last item. `null` where it is whole, or there is none. */
  readonly cutAfterId: number | null
}
