import { getLogger } from '@logtape/logtape'
import { systemClock } from '../../clock.ts'
import { countCodePoints } from '../../limits/code-points.ts'
import { errorMessage } from '../../program/error-message.ts'
import { loggedId } from '../logged-path.ts'
import type { AnswerLimits } from './limits.ts'
import type { RenderedAnswer } from './rendered-answer.ts'
import { repeatUntil } from './repeating.ts'
import type { AnswerRepository } from './repository.ts'

const log = getLogger(['stockroom', 'chat'])

/** Number of reports to the other process that somebody listens here, within the time after which it stops the answer. */
const REPORTS_PER_LIMIT = 6

/** How long an answer is still followed after its last listener has left, because a listener may come back at once. */
const LINGER_MS = 5_000

/** An answer that has been claimed, with the tools to show and store it. */
export interface ClaimedAnswer {
  readonly reqId: string
  readonly rendered: RenderedAnswer
  readonly answers: AnswerRepository
  readonly limits: AnswerLimits
}

/** An answer that another process has claimed. It is followed through the database while somebody listens. */
export class FollowedAnswer {
  readonly rendered: RenderedAnswer
  /** Resolves when it is no longer followed. */
  readonly done: Promise<void>
  readonly #options: ClaimedAnswer
  readonly #leaving = new AbortController()
  /** The length of the text so far, in Unicode code points. */
  #offset = 0
  #heardAt = systemClock.now()
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(options: ClaimedAnswer) {
    this.#options = options
    this.rendered = options.rendered
    this.done = this.#follow()
  }

  /** Disconnects the listeners. The answer continues in the other process. */
  leave(): void {
    this.#leaving.abort()
  }

  async #follow(): Promise<void> {
    const poll = async () => {
      if (await this.#isOver()) this.leave()
    }
    await repeatUntil(this.#leaving.signal, poll, error => {
      log.warning('an answer could not be followed: {reason}', {
        req_id: loggedId(this.#options.reqId),
        reason: errorMessage(error),
      })
    })
    this.rendered.detach()
  }

  async #isOver(): Promise<boolean> {
    const { reqId, answers, limits } = this.#options
    const stored = await answers.find(reqId, this.#offset)
    // The other process has released it. The next listener to connect can claim it.
    if (!stored) return true
    await this.rendered.append(stored.text)
    this.#offset += countCodePoints(stored.text)
    if (stored.ending) {
      this.rendered.end(stored.ending)
      return true
    }
    const now = systemClock.now()
    if (this.rendered.listeners === 0) return now - this.#heardAt >= LINGER_MS
    this.#heardAt = now
    if (now - this.#reportedAt >= limits.unheardMaxMs / REPORTS_PER_LIMIT) {
      this.#reportedAt = now
      await answers.reportListener(reqId)
    }
    return false
  }
}
