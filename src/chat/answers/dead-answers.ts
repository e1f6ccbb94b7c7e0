import type { AnswerRepository } from './repository.ts'

/**
 * Looks in a row that the store must have answered, and the longest time from one to the next. A store that was gone, or
 * stood still, also kept the living from saying that they are alive: they get the time to say so first.
 */
const LOOKS_BEFORE = 4
const LOOK_GAP_MAX_MS = 2_000

/** Ends as interrupted what dead processes have left under way. */
export class DeadAnswers {
  readonly #answers: AnswerRepository
  #looks = 0
  #answeredAt = Number.NEGATIVE_INFINITY

  constructor(answers: AnswerRepository) {
    this.#answers = answers
  }

  /** To be called every second. Rejects with a `DatabaseUnavailableError`. */
  async look(): Promise<void> {
    const looks = this.#looks
    this.#looks = 0
    const time = await this.#answers.time()
    const now = performance.now()
    this.#looks = now - this.#answeredAt > LOOK_GAP_MAX_MS ? 1 : looks + 1
    this.#answeredAt = now
    // Only what was silent before the store told the time is ended, however late the store gets to do it.
    if (this.#looks > LOOKS_BEFORE) await this.#answers.interruptDead(time - this.#answers.deadAfterMs)
  }
}
