import type { Parameter } from './connection.ts'

/** A statement that runs once for each list of parameters. */
export interface Step {
  readonly sql: string
  readonly each: readonly (readonly Parameter[])[]
}

/** Work in statements, which gets the rows of each. So the same work can run on the event loop and on a thread. */
export type Steps<Result> = Generator<Step, Result, unknown[]>

/** Asks for the rows of a statement, of all its runs together. */
export function* rowsOf<Row>(sql: string, each: Step['each']): Steps<Row[]> {
  if (each.length === 0) return []
  return (yield { sql, each }) as Row[]
}
