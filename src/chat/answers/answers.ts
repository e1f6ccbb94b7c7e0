import { setTimeout as wait } from 'node:timers/promises'
import type { Markdown } from '../../markdown/renderer.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import { HttpError } from '../../server/errors.ts'
import type { PromptRepository } from '../prompts/repository.ts'
import { FollowedAnswer } from './followed.ts'
import { ANSWER_LIMITS, type AnswerLimits } from './limits.ts'
import { AnswerQueue, type Ticket } from './queue.ts'
import type { RenderedAnswer } from './rendered-answer.ts'
import { RenderedAnswers } from './rendered-answers.ts'
import type { AnswerRepository, StoredAnswer } from './repository.ts'
import { RunningAnswer } from './running.ts'

/** What a reader who was turned away is asked to wait. */
const RETRY_AFTER_SECONDS = 5

/** For the store to keep the ends of answers when the process ends; what it has not kept by then is found by others. */
const KEEP_LAST_MS = 1_500

export interface AnswersOptions {
  readonly prompts: PromptRepository
  readonly answers: AnswerRepository
  readonly model: ChatModel
  readonly markdown: Markdown
  readonly limits?: AnswerLimits
}

/** Where an answer is: nobody has asked for it yet, it is in line for the model, it comes, or it has ended. */
export type AnswerStatus = 'new' | 'waiting' | 'running' | 'ended'

/** An answer that is under way, here or elsewhere. */
type Current = RunningAnswer | FollowedAnswer

/** One answer for each prompt, and one call to the model for each answer: whoever connects, however often, anywhere. */
export class Answers implements AsyncDisposable {
  readonly #prompts: PromptRepository
  readonly #answers: AnswerRepository
  readonly #model: ChatModel
  readonly #limits: AnswerLimits
  readonly #queue: AnswerQueue
  readonly #current = new Map<string, Promise<Current | null>>()
  readonly #rendered: RenderedAnswers
  #closed: Promise<void> | null = null

  constructor({ prompts, answers, model, markdown, limits = ANSWER_LIMITS }: AnswersOptions) {
    this.#prompts = prompts
    this.#answers = answers
    this.#model = model
    this.#rendered = new RenderedAnswers(markdown)
    this.#limits = limits
    this.#queue = new AnswerQueue(limits)
  }

  /**
   * The answer to a prompt, for one more to listen to: as far as it has come, or just begun if this is the first to ask.
   * `null` when there is no such prompt. Throws an `HttpError` when too many answers wait for the model, or too many of
   * the client at this address.
   */
  async join(reqId: string, address: string): Promise<RenderedAnswer | null> {
    const current = await this.#joinCurrent(reqId, address)
    return current ? current.rendered : this.ended(reqId)
  }

  /** An answer that has ended; `null` for any other. */
  async ended(reqId: string): Promise<RenderedAnswer | null> {
    const current = await this.#current.get(reqId)
    if (current) return current.rendered.newest.ending && current.rendered
    const known = this.#rendered.cached(reqId)
    if (known) return known
    const stored = await this.#answers.find(reqId)
    if (!stored?.ending) return null
    // More text may come to it, should its process live after all.
    if (stored.ending.state === 'interrupted') return this.#rendered.whole(stored.text, stored.ending)
    return this.#rendered.cache(reqId, stored.text, stored.ending)
  }

  /** `null` when there is no such prompt. */
  async status(reqId: string): Promise<AnswerStatus | null> {
    const current = await this.#current.get(reqId)
    const stored = current instanceof RunningAnswer ? current : await this.#answers.find(reqId)
    if (stored) return statusOf(stored)
    return (await this.#prompts.find(reqId)) === null ? null : 'new'
  }

  /** Ends the answer for good, wherever it runs, even before it began. False when there is no such prompt. */
  async stop(reqId: string): Promise<boolean> {
    const current = await this.#current.get(reqId)
    if (current instanceof RunningAnswer) {
      await current.end({ state: 'stopped' })
      return true
    }
    if ((await this.#prompts.find(reqId)) === null) return false
    await this.#answers.askToStop(reqId)
    return true
  }

  /**
   * Lets what runs come to its end for up to `graceMs`, then keeps it as interrupted. What waits in line is given back,
   * and what runs elsewhere is left, for other processes to serve; new ones are turned away.
   */
  close(graceMs: number): Promise<void> {
    this.#closed ??= this.#close(graceMs)
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close(0)
  }

  async #close(graceMs: number): Promise<void> {
    const opened = [...this.#current.values()].map(answer => answer.catch(() => null))
    const current = (await Promise.all(opened)).filter(answer => answer !== null)
    const running = current.filter(answer => answer instanceof RunningAnswer)
    for (const answer of current) {
      if (answer instanceof FollowedAnswer) void answer.leave()
      else if (answer.isWaiting) void answer.giveBack()
    }
    const over = Promise.all(current.map(answer => answer.done))
    await within(graceMs, over)
    for (const answer of running) void answer.end({ state: 'interrupted' })
    await within(KEEP_LAST_MS, over)
  }

  #joinCurrent(reqId: string, address: string): Promise<Current | null> {
    const known = this.#current.get(reqId)
    if (known) return known
    const opened = this.#open(reqId, address)
    this.#current.set(reqId, opened)
    const forget = () => {
      this.#current.delete(reqId)
    }
    opened.then(current => current?.done).then(forget, forget)
    return opened
  }

  async #open(reqId: string, address: string): Promise<Current | null> {
    if ((await this.#prompts.find(reqId)) === null) return null
    if (this.#closed) throw turnedAway('The server is stopping')
    const stored = await this.#answers.find(reqId)
    if (stored?.ending) return null
    if (stored) return this.#follow(reqId)
    const ticket = this.#queue.enter(address)
    if (ticket === 'full') throw turnedAway('Too many answers are waiting')
    if (ticket === 'too many of this address') throw turnedAway('Too many answers to your address are under way', 429)
    using entered = new DisposableStack()
    entered.use(ticket)
    if (!(await this.#answers.claim(reqId))) return this.#follow(reqId)
    // From its claim on, the prompt stands.
    const prompt = await this.#prompts.find(reqId)
    if (prompt === null) return null
    entered.move()
    return this.#run(reqId, prompt, ticket)
  }

  #run(reqId: string, prompt: string, ticket: Ticket): RunningAnswer {
    return new RunningAnswer({
      reqId,
      prompt,
      model: this.#model,
      rendered: this.#rendered.begin(),
      ticket,
      answers: this.#answers,
      limits: this.#limits,
    })
  }

  #follow(reqId: string): FollowedAnswer {
    return new FollowedAnswer(reqId, this.#answers, this.#rendered.begin(), this.#limits)
  }
}

/** Resolves when the work is done, or when so much time is over. */
async function within(milliseconds: number, work: Promise<unknown>): Promise<void> {
  const done = new AbortController()
  const late = wait(milliseconds, undefined, { signal: done.signal }).catch(() => {})
  await Promise.race([work, late])
  done.abort()
}

function statusOf({ ending, isWaiting }: Pick<StoredAnswer, 'ending' | 'isWaiting'>): AnswerStatus {
  if (ending) return 'ended'
  return isWaiting ? 'waiting' : 'running'
}

function turnedAway(detail: string, status = 503): HttpError {
  return new HttpError(status, detail, { 'Retry-After': String(RETRY_AFTER_SECONDS) })
}
