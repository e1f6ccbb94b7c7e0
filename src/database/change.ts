/** A change that a commit made. */
export interface Change {
  readonly table: string
  /** `any` if the write cannot tell which rows. */
  readonly id: number | 'any'
  /**
   * The row itself; or the set of rows in other tables that refer to it, with what they hold; or which rows the table has, where
   * the id is `any`.
   */
  readonly part: 'row' | 'referring rows' | 'all rows'
}
