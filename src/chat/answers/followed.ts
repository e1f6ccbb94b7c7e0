import { setTimeout as wait } from 'node:timers/promises'
import { getLogger } from '@logtape/logtape'
import { errorMessage } from '../../error-message.ts'
import { countCodePoints } from '../../text/code-points.ts'
import { loggedId } from '../logged-path.ts'
import type { AnswerLimits } from './limits.ts'
import type { RenderedAnswer } from './rendered-answer.ts'
import type { AnswerRepository } from './repository.ts'

const log = getLogger(['stockroom', 'chat'])

/** How often is read what the other process has kept, and how long after it could not be read. */
const FOLLOW_MS = 100
const FOLLOW_FAILED_MS = 500

/** How often the other process is told that somebody listens here, before it gives up. */
const HEAR_TIMES = 6

/** After the last listener has left, for one that comes back at once. */
const LINGER_MS = 5_000

/** An answer that another process has claimed, followed through the database while somebody listens. */
export class FollowedAnswer {
  readonly rendered: RenderedAnswer
  /** Resolves when it is no longer followed. */
  readonly done: Promise<void>
  readonly #reqId: string
  readonly #answers: AnswerRepository
  readonly #limits: AnswerLimits
  readonly #leaving = new AbortController()
  #known = 0
  #heardAt = performance.now()
  #toldAt = Number.NEGATIVE_INFINITY

  constructor(reqId: string, answers: AnswerRepository, rendered: RenderedAnswer, limits: AnswerLimits) {
    this.#limits = limits
    this.rendered = rendered
    this.#reqId = reqId
    this.#answers = answers
    this.done = this.#follow()
  }

  /** Lets the listeners go; the answer goes on where it is. */
  leave(): Promise<void> {
    this.#leaving.abort()
    return this.done
  }

  async #follow(): Promise<void> {
    const { signal } = this.#leaving
    let isFailing = false
    while (!signal.aborted) {
      try {
        if (await this.#isOver()) break
        isFailing = false
      } catch (error) {
        if (!isFailing) this.#notFollowed(error)
        isFailing = true
      }
      await wait(isFailing ? FOLLOW_FAILED_MS : FOLLOW_MS, undefined, { signal }).catch(() => {})
    }
    this.rendered.detach()
  }

  async #isOver(): Promise<boolean> {
    const stored = await this.#answers.find(this.#reqId, this.#known)
    // Given back: whoever connects next may claim it.
    if (!stored) return true
    this.#known += countCodePoints(stored.text)
    await this.rendered.append(stored.text)
    if (stored.ending) {
      this.rendered.end(stored.ending)
      return true
    }
    const now = performance.now()
    if (this.rendered.listeners === 0) return now - this.#heardAt >= LINGER_MS
    this.#heardAt = now
    if (now - this.#toldAt >= this.#limits.unheardMaxMs / HEAR_TIMES) {
      this.#toldAt = now
      await this.#answers.hear(this.#reqId)
    }
    return false
  }

  #notFollowed(error: unknown): void {
    log.warning('an answer could not be followed: {reason}', {
      req_id: loggedId(this.#reqId),
      reason: errorMessage(error),
    })
  }
}
