import type { AnswerRepository } from './repository.ts'

/** Missed-heartbeat limit. Longer than it takes to connect again to a database that others kept reaching. */
const DEAD_AFTER_MS = 5_000

/**
 * Longest time between two looks in a row. After a longer one, this process or the store may have stood still, and the
 * others with them: they get the whole limit again.
 */
const LOOK_GAP_MAX_MS = 2_000

interface Heartbeat {
  readonly heartbeat: string
  /** When it was first seen, by this process's monotonic clock. */
  readonly seenAt: number
}

/** Ends as interrupted what dead processes have left under way. */
export class DeadAnswers {
  readonly #answers: AnswerRepository
  #seen = new Map<string, Heartbeat>()
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(answers: AnswerRepository) {
    this.#answers = answers
  }

  /** To be called every second. Rejects with a `DatabaseUnavailableError`. */
  async look(): Promise<void> {
    const before = this.#seen
    this.#seen = new Map()
    const underWay = await this.#answers.underWay()
    const now = performance.now()
    const isInARow = now - this.#lookedAt <= LOOK_GAP_MAX_MS
    this.#lookedAt = now
    for (const { reqId, heartbeat } of underWay) {
      const known = isInARow ? before.get(reqId) : undefined
      this.#seen.set(reqId, known?.heartbeat === heartbeat ? known : { heartbeat, seenAt: now })
    }
    const dead = underWay.filter(({ reqId }) => now - (this.#seen.get(reqId)?.seenAt ?? now) >= DEAD_AFTER_MS)
    await Promise.all(dead.map(answer => this.#answers.interrupt(answer)))
  }
}
