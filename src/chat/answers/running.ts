import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { getLogger } from '@logtape/logtape'
import { errorMessage } from '../../error-message.ts'
import { AnswerError, type ChatModel } from '../../models/chat-model.ts'
import { countCodePoints } from '../../text/code-points.ts'
import { loggedId } from '../logged-path.ts'
import type { AnswerLimits } from './limits.ts'
import type { Ticket } from './queue.ts'
import type { RenderedAnswer } from './rendered-answer.ts'
import type { AnswerRepository, Ending, Piece } from './repository.ts'

const log = getLogger(['stockroom', 'chat'])

/** How often what came is kept, with the wishes of other processes read, and how long after it could not be kept. */
const KEEP_MS = 100
const KEEP_FAILED_MS = 500

/** How often that is done while nothing comes, to say that this process is alive. */
const ALIVE_MS = 500

/** How long the end is tried to be kept while the database cannot be used, and the time between. */
const KEEP_END_MAX_MS = 60_000
const KEEP_END_WAIT_MS = 500

/** What databases cannot store stands as what Markdown shows in its place. */
const REPLACEMENT = '\ufffd'

const SYSTEM_INSTRUCTION = 'Answer in markdown only.'

const FAILED_OTHERWISE = 'The answer failed within this server.'

interface Asked {
  readonly reqId: string
  readonly prompt: string
  readonly model: ChatModel
  readonly rendered: RenderedAnswer
  readonly ticket: Ticket
  readonly answers: AnswerRepository
  readonly limits: AnswerLimits
}

/** An answer that this process has claimed: it asks the model, once, whoever listens, and keeps what comes. */
export class RunningAnswer {
  readonly rendered: RenderedAnswer
  /** Resolves when the answer has ended, and that is kept. */
  readonly done: Promise<void>
  readonly #asked: Asked
  readonly #stopping = new AbortController()
  /** How much of the text is kept: in UTF-16 code units, and in code points. */
  #kept = { length: 0, codePoints: 0, isWaiting: true, at: performance.now() }
  /** Begun to be kept; whether it was is not known. */
  #keeping: Piece | null = null
  #heardAt = performance.now()
  /** What the store said last of listeners in other processes. */
  #heard: string | undefined
  #isWaiting = true
  #isGivenBack = false
  #ending: Ending | null = null

  constructor(asked: Asked) {
    this.#asked = asked
    this.rendered = asked.rendered
    this.done = this.#run()
  }

  /** Whether it is still in line for the model. */
  get isWaiting(): boolean {
    return this.#isWaiting
  }

  /** `null` while it is under way. */
  get ending(): Ending | null {
    return this.rendered.newest.ending
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
      this.rendered.end(ending)
      await this.#keepEnd(ending)
    } else {
      await this.#asked.answers.release(this.#asked.reqId).catch(error => this.#notKept(error))
      this.rendered.detach()
    }
  }

  /** `null` when it left the line before its turn. */
  async #askInTurn(): Promise<Ending | null> {
    const { signal } = this.#stopping
    using ticket = this.#asked.ticket
    if (!(await ticket.turn(signal)) || signal.aborted) return this.#isGivenBack ? null : this.#ending
    this.#isWaiting = false
    const { model, prompt } = this.#asked
    try {
      for await (const piece of model.answer({ system: SYSTEM_INSTRUCTION, prompt, signal })) {
        if (this.#ending) break
        await this.rendered.append(piece.replaceAll('\0', REPLACEMENT))
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
    log.warning('an answer failed: {cause}', { req_id: loggedId(this.#asked.reqId), cause: String(error) })
    return { state: 'failed', reason }
  }

  #keepRegularly(): () => void {
    const over = new AbortController()
    void this.#keepUntil(over.signal)
    return () => over.abort()
  }

  /** All answers of this process at the same moments, so that the database gets them together. */
  async #keepUntil(signal: AbortSignal): Promise<void> {
    let isFailing = false
    for (;;) {
      const period = isFailing ? KEEP_FAILED_MS : KEEP_MS
      await wait(period - (performance.now() % period), undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      try {
        await this.#keep()
        isFailing = false
      } catch (error) {
        if (!isFailing) this.#notKept(error)
        isFailing = true
      }
    }
  }

  async #keep(): Promise<void> {
    const { reqId, answers, limits } = this.#asked
    if (this.rendered.listeners > 0) this.#heardAt = performance.now()
    if (!this.#isDue()) return
    const isWaiting = this.#isWaiting
    const piece = this.#nextPiece()
    this.#keeping = piece
    const wishes = await answers.keep(reqId, piece, isWaiting)
    this.#keeping = null
    this.#kept = {
      length: this.#kept.length + piece.text.length,
      codePoints: this.#kept.codePoints + countCodePoints(piece.text),
      isWaiting,
      at: performance.now(),
    }
    if (wishes && wishes.heard !== this.#heard) this.#heardAt = performance.now()
    this.#heard = wishes?.heard
    // Another process has taken this one for dead.
    if (wishes?.ending) this.#decide(wishes.ending)
    else if (wishes?.stopAsked) this.#decide({ state: 'stopped' })
    else if (performance.now() - this.#heardAt >= limits.unheardMaxMs) this.#decide({ state: 'unheard' })
  }

  #isDue(): boolean {
    const { length, isWaiting, at } = this.#kept
    const isNew = length !== this.rendered.text.length || isWaiting !== this.#isWaiting
    return isNew || performance.now() - at >= ALIVE_MS
  }

  /** What came since the last one, or that one again. The first half of a character waits for the other one. */
  #nextPiece(): Piece {
    if (this.#keeping) return this.#keeping
    const { length, codePoints: position } = this.#kept
    const text = this.rendered.text.slice(length).replace(/[\uD800-\uDBFF]$/, '')
    return { text: text.toWellFormed(), position }
  }

  async #keepEnd(ending: Ending): Promise<void> {
    const { reqId, answers } = this.#asked
    const began = performance.now()
    for (let isFirst = true; performance.now() - began < KEEP_END_MAX_MS; isFirst = false) {
      try {
        return await answers.end(reqId, this.rendered.text.toWellFormed(), ending)
      } catch (error) {
        if (isFirst) this.#notKept(error)
        await wait(KEEP_END_WAIT_MS)
      }
    }
  }

  #notKept(error: unknown): void {
    log.error('an answer could not be kept: {reason}', {
      req_id: loggedId(this.#asked.reqId),
      reason: errorMessage(error),
    })
  }
}
