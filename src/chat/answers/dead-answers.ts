import type { Clock } from '../../clock.ts'
import type { AnswerRepository } from './repository.ts'

/** Missed-heartbeat limit. Longer than it takes to reconnect to a database that others could reach. */
const DEAD_AFTER_MS = 5_000

/**
 * Longest gap between two checks in a row. After a longer one, this process or the store may have stalled, and with it the
 * heartbeats of live processes: they get the whole limit again.
 */
const CHECK_GAP_MAX_MS = 2_000

interface SeenHeartbeat {
  readonly heartbeat: string
  /** When this process first saw it. */
  readonly seenAt: number
}

/** Ends the answers of dead processes as interrupted. */
export class DeadAnswers {
  readonly #answers: AnswerRepository
  readonly #clock: Clock
  #seen = new Map<string, SeenHeartbeat>()
  #checkedAt = Number.NEGATIVE_INFINITY

  constructor(answers: AnswerRepository, clock: Clock) {
    this.#answers = answers
    this.#clock = clock
  }

  /** Call it every second. Rejects with a `DatabaseUnavailableError`. */
  async check(): Promise<void> {
    const before = this.#seen
    this.#seen = new Map()
    const inProgress = await this.#answers.inProgress()
    const now = this.#clock.now()
    const isInARow = now - this.#checkedAt <= CHECK_GAP_MAX_MS
    this.#checkedAt = now
    for (const { reqId, heartbeat } of inProgress) {
      const known = isInARow ? before.get(reqId) : undefined
      this.#seen.set(reqId, known?.heartbeat === heartbeat ? known : { heartbeat, seenAt: now })
    }
    const dead = inProgress.filter(({ reqId }) => now - (this.#seen.get(reqId)?.seenAt ?? now) >= DEAD_AFTER_MS)
    await Promise.all(dead.map(answer => this.#answers.interrupt(answer)))
  }
}
