import { getLogger } from '@logtape/logtape'
import { systemClock, within } from '../../clock.ts'
import { BusyError, ClientLimitError } from '../../limits/busy-error.ts'
import type { Markdown } from '../../markdown/renderer.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import { errorMessage } from '../../program/error-message.ts'
import type { TraceContext } from '../../tracing/trace-context.ts'
import { loggedId } from '../logged-path.ts'
import type { PromptRepository } from '../prompts/repository.ts'
import type { Account, Spending } from '../spending/spending.ts'
import { type ClaimedAnswer, FollowedAnswer } from './followed.ts'
import type { AnswerLimits } from './limits.ts'
import { openAnswerQueue, type QueueFigures, RETRY_AFTER_SECONDS } from './queue.ts'
import type { RenderedAnswer } from './rendered-answer.ts'
import { RenderedAnswers } from './rendered-answers.ts'
import type { AnswerRepository, StoredAnswer } from './repository.ts'
import { RunningAnswer } from './running.ts'

const log = getLogger(['stockroom', 'chat'])

/** Time limit for storing the ends of answers at shutdown. Other processes end the rest as interrupted. */
const STORE_ENDS_MS = 1_500

export interface AnswersOptions {
  readonly prompts: PromptRepository
  readonly answers: AnswerRepository
  readonly model: ChatModel
  readonly markdown: Markdown
  readonly spending: Spending
  readonly limits: AnswerLimits
}

/** `new`: nobody has asked for the answer yet. `waiting`: it is queued for the model. */
export type AnswerStatus = 'new' | 'waiting' | 'running' | 'ended'

export interface AnswersFigures extends QueueFigures {
  /** Answers that other processes have claimed. */
  readonly followed: number
  /** Of all answers in progress. */
  readonly listeners: number
}

/** A listener, who may be the first one. */
export interface Asker {
  /** For the limits per address. */
  readonly address: string
  /** For the bounds per day. */
  readonly account: Account
  /** The model's call belongs to the trace of the one who begins the answer. */
  readonly trace: TraceContext | null
}

/** An answer in progress, in this process or another one. */
type ActiveAnswer = RunningAnswer | FollowedAnswer

/** Gives each prompt one answer, with one call to the model, however many clients connect to any process. */
export class Answers implements AsyncDisposable {
  readonly #options: AnswersOptions
  readonly #queue: ReturnType<typeof openAnswerQueue>
  readonly #active = new Map<string, Promise<ActiveAnswer | null>>()
  /** The same answers, as soon as they are open. */
  readonly #opened = new Set<ActiveAnswer>()
  readonly #rendered: RenderedAnswers
  #closed: Promise<void> | null = null

  constructor(options: AnswersOptions) {
    this.#options = options
    this.#rendered = new RenderedAnswers(options.markdown)
    this.#queue = openAnswerQueue(options.limits)
  }

  get figures(): AnswersFigures {
    const opened = [...this.#opened]
    return {
      ...this.#queue.figures(),
      followed: opened.filter(answer => answer instanceof FollowedAnswer).length,
      listeners: opened.reduce((sum, { rendered }) => sum + rendered.listeners, 0),
    }
  }

  /**
   * The answer to a prompt, for one more listener. The first one to ask begins it. Resolves to `null` if there is no such
   * prompt. Throws a `BusyError` if too many answers are queued, in all or from this address, or if the account has reached
   * a bound for the day.
   */
  async join(reqId: string, asker: Asker): Promise<RenderedAnswer | null> {
    const active = await this.#joinActive(reqId, asker)
    return active ? active.rendered : this.ended(reqId)
  }

  /** The answer if it has ended; `null` otherwise. */
  async ended(reqId: string): Promise<RenderedAnswer | null> {
    const active = await this.#activeOrNull(reqId)
    if (active) return active.rendered.newest.ending && active.rendered
    const stored = await this.#options.answers.find(reqId)
    if (!stored?.ending) return null
    // Not cached: if its process is alive after all, more text may be stored.
    if (stored.ending.state === 'interrupted') return this.#rendered.whole(stored.text, stored.ending)
    return this.#rendered.cache(reqId, stored.text, stored.ending)
  }

  /** Resolves to `null` if there is no such prompt. */
  async status(reqId: string): Promise<AnswerStatus | null> {
    const active = await this.#activeOrNull(reqId)
    const stored = active instanceof RunningAnswer ? active : await this.#options.answers.find(reqId)
    if (stored) return statusOf(stored)
    return (await this.#options.prompts.find(reqId)) === null ? null : 'new'
  }

  /** Stops the answer for good, in any process, even before it has begun. Resolves to false if there is no such prompt. */
  async stop(reqId: string): Promise<boolean> {
    const active = await this.#activeOrNull(reqId)
    if (active instanceof RunningAnswer) {
      await active.end({ state: 'stopped' })
      return true
    }
    if ((await this.#options.prompts.find(reqId)) === null) return false
    await this.#options.answers.requestStop(reqId)
    return true
  }

  /**
   * Refuses new answers, and lets running ones continue for up to `graceMs`; the rest is stored as interrupted. Queued
   * answers are released for other processes, and listeners of answers that run elsewhere are disconnected.
   */
  close(graceMs: number): Promise<void> {
    this.#closed ??= this.#close(graceMs)
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close(0)
  }

  async #close(graceMs: number): Promise<void> {
    const opened = [...this.#active.values()].map(answer => answer.catch(() => null))
    const active = (await Promise.all(opened)).filter(answer => answer !== null)
    const running = active.filter(answer => answer instanceof RunningAnswer)
    for (const answer of active) {
      if (answer instanceof FollowedAnswer) answer.leave()
      else if (answer.isWaiting) answer.release()
    }
    const done = Promise.all(active.map(answer => answer.done))
    await within(systemClock, graceMs, done)
    for (const answer of running) void answer.end({ state: 'interrupted' })
    await within(systemClock, STORE_ENDS_MS, done)
  }

  /** `null` also if it is just being refused to another request. */
  async #activeOrNull(reqId: string): Promise<ActiveAnswer | null> {
    const opened = this.#active.get(reqId)
    return opened ? opened.catch(() => null) : null
  }

  async #joinActive(reqId: string, asker: Asker): Promise<ActiveAnswer | null> {
    for (let known = this.#active.get(reqId); known; known = this.#active.get(reqId)) {
      try {
        return await known
      } catch (error) {
        // Another client has reached a bound of its own.
        if (!(error instanceof ClientLimitError)) throw error
      }
    }
    const opened = this.#open(reqId, asker)
    this.#active.set(reqId, opened)
    const forget = () => {
      this.#active.delete(reqId)
    }
    opened.then(active => active && this.#untilDone(active)).then(forget, forget)
    return opened
  }

  async #untilDone(active: ActiveAnswer): Promise<void> {
    this.#opened.add(active)
    await active.done.finally(() => this.#opened.delete(active))
  }

  async #open(reqId: string, { address, account, trace }: Asker): Promise<ActiveAnswer | null> {
    const { prompts, answers, spending, model } = this.#options
    if ((await prompts.find(reqId)) === null) return null
    if (this.#closed) throw new BusyError('The server is stopping', RETRY_AFTER_SECONDS)
    const stored = await answers.find(reqId)
    if (stored?.ending) return null
    if (stored) return new FollowedAnswer(this.#claimed(reqId))
    await using claiming = new AsyncDisposableStack()
    const ticket = claiming.use(this.#queue.enter(address))
    const bill = await spending.begin(account)
    claiming.defer(() =>
      bill.settle(null).catch(error => {
        log.error('an answer that did not begin stays counted: {reason}', {
          req_id: loggedId(reqId),
          reason: errorMessage(error),
        })
      }),
    )
    const prompt = await answers.claim(reqId)
    if (prompt === null) return new FollowedAnswer(this.#claimed(reqId))
    claiming.move()
    return new RunningAnswer({ ...this.#claimed(reqId), prompt, model, ticket, bill, trace })
  }

  #claimed(reqId: string): ClaimedAnswer {
    const { answers, limits } = this.#options
    return { reqId, rendered: this.#rendered.begin(), answers, limits }
  }
}

function statusOf({ ending, isWaiting }: Pick<StoredAnswer, 'ending' | 'isWaiting'>): AnswerStatus {
  if (ending) return 'ended'
  return isWaiting ? 'waiting' : 'running'
}
