import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import type { Markdown } from '../../markdown/renderer.ts'
import { AnswerError, type ChatModel } from '../../models/chat-model.ts'
import { log } from '../../server/log.ts'
import type { AnswerLimits } from './limits.ts'
import type { Line } from './line.ts'
import { ALIVE_MS } from './liveness.ts'
import { Rendition } from './rendition.ts'
import type { AnswerRepository, Ending } from './repository.ts'

/** How often what came is kept, and the wishes of other processes are read. */
const KEEP_MS = 250

/** How often the end is tried to be kept while the database cannot be used, and the time between. */
const KEEP_END_TRIES = 3
const KEEP_END_WAIT_MS = 1_000

const SYSTEM_INSTRUCTION = 'Answer in markdown only.'

const FAILED_OTHERWISE = 'The answer failed within this server.'

interface Asked {
  readonly reqId: string
  readonly prompt: string
  readonly model: ChatModel
  readonly markdown: Markdown
  readonly line: Line
  readonly answers: AnswerRepository
  readonly limits: AnswerLimits
}

/** An answer that this process has claimed: it asks the model, once, whoever listens, and keeps what comes. */
export class RunningAnswer {
  readonly rendition: Rendition
  /** Resolves when the answer has ended, and that is kept. */
  readonly done: Promise<void>
  readonly #asked: Asked
  readonly #stopping = new AbortController()
  #kept = { text: '', isWaiting: true, at: Date.now() }
  #heardAt = Date.now()
  #isWaiting = true
  #isGivenBack = false
  #ending: Ending | null = null

  constructor(asked: Asked) {
    this.#asked = asked
    this.rendition = new Rendition(asked.markdown)
    this.done = this.#run()
  }

  /** Whether it is still in line for the model. */
  get isWaiting(): boolean {
    return this.#isWaiting
  }

  /** `null` while it is under way. */
  get ending(): Ending | null {
    return this.rendition.shown.ending
  }

  /** Ends it now, and for good: the connection to the model is closed, and what came is kept. */
  end(ending: Ending): Promise<void> {
    this.#decide(ending)
    return this.done
  }

  /** Leaves the line for the model, so that another process may claim the answer. */
  giveBack(): Promise<void> {
    this.#isGivenBack = true
    this.#stopping.abort()
    return this.done
  }

  #decide(ending: Ending): void {
    this.#ending ??= ending
    this.#stopping.abort()
  }

  async #run(): Promise<void> {
    const stopKeeping = this.#keepRegularly()
    const ending = await this.#askInTurn()
    stopKeeping()
    if (ending) {
      this.rendition.end(ending)
      await this.#keepEnd(ending)
    } else {
      await this.#asked.answers.release(this.#asked.reqId).catch(error => this.#notKept(error))
      this.rendition.detach()
    }
  }

  /** `null` when it left the line before its turn. */
  async #askInTurn(): Promise<Ending | null> {
    const { signal } = this.#stopping
    using place = await this.#asked.line.place(signal)
    if (!place || signal.aborted) return this.#isGivenBack ? null : this.#ending
    this.#isWaiting = false
    const { model, prompt } = this.#asked
    try {
      for await (const piece of model.answer({ system: SYSTEM_INSTRUCTION, prompt, signal })) {
        if (this.#ending) break
        this.rendition.append(piece)
        // Each piece is on its way to those who can take it before the next one replaces it.
        await turn()
      }
    } catch (error) {
      if (!signal.aborted) return this.#failed(error)
    }
    return this.#ending ?? { state: 'finished' }
  }

  #failed(error: unknown): Ending {
    const reason = error instanceof AnswerError ? error.message : FAILED_OTHERWISE
    log.chat.warning('an answer failed: {cause}', { req_id: this.#asked.reqId, cause: String(error) })
    return { state: 'failed', reason }
  }

  #keepRegularly(): () => void {
    let isBusy = false
    const timer = setInterval(async () => {
      if (isBusy) return
      isBusy = true
      await this.#keep().catch(error => this.#notKept(error))
      isBusy = false
    }, KEEP_MS)
    return () => clearInterval(timer)
  }

  async #keep(): Promise<void> {
    const { reqId, answers, limits } = this.#asked
    if (this.rendition.listeners > 0) this.#heardAt = Date.now()
    const stored = await answers.find(reqId)
    const heardAt = Math.max(this.#heardAt, stored?.heardAt ?? 0)
    // Another process has taken this one for dead.
    if (stored?.ending) this.#decide(stored.ending)
    else if (stored?.stopAsked) this.#decide({ state: 'stopped' })
    else if (Date.now() - heardAt >= limits.unheardMaxMs) this.#decide({ state: 'unheard' })
    else if (this.#isDue()) await this.#keepSoFar()
  }

  #isDue(): boolean {
    const { text, isWaiting, at } = this.#kept
    return text !== this.rendition.text || isWaiting !== this.#isWaiting || Date.now() - at >= ALIVE_MS
  }

  async #keepSoFar(): Promise<void> {
    const kept = { text: this.rendition.text, isWaiting: this.#isWaiting, at: Date.now() }
    await this.#asked.answers.keep(this.#asked.reqId, kept.text.toWellFormed(), kept.isWaiting)
    this.#kept = kept
  }

  async #keepEnd(ending: Ending): Promise<void> {
    const { reqId, answers } = this.#asked
    for (let tries = 1; tries <= KEEP_END_TRIES; tries += 1) {
      try {
        return await answers.end(reqId, this.rendition.text.toWellFormed(), ending)
      } catch (error) {
        this.#notKept(error)
        await wait(KEEP_END_WAIT_MS)
      }
    }
  }

  #notKept(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error)
    log.chat.error('an answer could not be kept: {reason}', { req_id: this.#asked.reqId, reason })
  }
}
