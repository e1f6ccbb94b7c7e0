import type { Pool } from './pool.ts'

/**
 * The server's clock, so that a statement can carry a deadline which the server checks. It is read after a connection was
 * opened, because that may lead to another server.
 */
export class ServerClock {
  #readAt = Number.NEGATIVE_INFINITY
  /** The server's time at the start of this process's clock, in milliseconds since 1970. */
  #startMs = 0

  isKnown({ connectedAt }: Pool): boolean {
    return this.#readAt > connectedAt
  }

  async read(pool: Pool): Promise<void> {
    const began = performance.now()
    const [clock] = await pool.query<{ ms: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
    )
    // The time of the answer, so that no deadline is too late.
    this.#startMs = (clock?.ms ?? 0) - performance.now()
    this.#readAt = began
  }

  /** Call it when the server has refused a deadline: its clock may have been set. */
  forget(): void {
    this.#readAt = Number.NEGATIVE_INFINITY
  }

  /** The server's time after `ms` milliseconds, in seconds since 1970. */
  in(ms: number): number {
    return (this.#startMs + performance.now() + ms) / 1_000
  }
}

/**
 * Makes a SELECT, whose WITH may write, fail with 2201X before it does anything, if it begins after the deadline, which is the
 * parameter at this place. PostgreSQL evaluates the offset once, before anything else.
 */
export function inTime(sql: string, place: number): string {
  return `${sql} OFFSET CASE WHEN clock_timestamp() > to_timestamp($${place}::float8) THEN -1 ELSE 0 END`
}
