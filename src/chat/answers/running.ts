import { setImmediate as turn } from 'node:timers/promises'
import { getLogger } from '@logtape/logtape'
import { pause, systemClock } from '../../clock.ts'
import { countCodePoints, withoutHalf } from '../../limits/code-points.ts'
import { AnswerError, type ChatModel, type Usage } from '../../models/chat-model.ts'
import { errorMessage } from '../../program/error-message.ts'
import type { TraceContext } from '../../tracing/trace-context.ts'
import { loggedId } from '../logged-path.ts'
import type { Bill } from '../spending/spending.ts'
import type { ClaimedAnswer } from './followed.ts'
import type { Ticket } from './queue.ts'
import type { RenderedAnswer } from './rendered-answer.ts'
import { repeatUntil } from './repeating.ts'
import type { Ending, Piece } from './repository.ts'

const log = getLogger(['stockroom', 'chat'])

/** Interval of the heartbeats while there is no new text. */
const HEARTBEAT_MS = 500

/** After so long without a reply to a heartbeat, the store was away. */
const AWAY_MS = 2_000

/** Time limit and interval for storing the end of an answer while the database is unavailable. */
const END_RETRY_MAX_MS = 60_000
const END_RETRY_MS = 500

const SYSTEM_INSTRUCTION = 'Answer in markdown only.'

/** For failures that are not the model's. */
const INTERNAL_FAILURE = 'The answer failed within this server.'

interface RunningAnswerOptions extends ClaimedAnswer {
  readonly prompt: string
  readonly model: ChatModel
  readonly ticket: Ticket
  readonly bill: Bill
  /** Of the request that began the answer. */
  readonly trace: TraceContext | null
}

/** An answer that this process has claimed. It asks the model once, however many listen, and stores the text. */
export class RunningAnswer {
  readonly rendered: RenderedAnswer
  /** Resolves when the answer has ended and its end is stored. */
  readonly done: Promise<void>
  readonly #options: RunningAnswerOptions
  readonly #stopping = new AbortController()
  /** The last state in the store. The length of the text is in UTF-16 code units and in code points. */
  #stored = { length: 0, codePoints: 0, isWaiting: true, at: systemClock.now() }
  /** A piece that was sent to the store, without a reply so far. */
  #unconfirmed: Piece | null = null
  /** The last time that somebody listened, here or in another process. */
  #heardAt = systemClock.now()
  /** The mark of listeners in other processes in the last reply. */
  #heard: string | undefined
  #isWaiting = true
  #ending: Ending | null = null
  /** `null` if the model was not asked. */
  #usage: Usage | null = null

  constructor(options: RunningAnswerOptions) {
    this.#options = options
    this.rendered = options.rendered
    this.done = this.#run()
  }

  /** Whether it is still queued for the model. */
  get isWaiting(): boolean {
    return this.#isWaiting
  }

  /** `null` while it is in progress. */
  get ending(): Ending | null {
    return this.rendered.newest.ending
  }

  /** Ends the answer for good: closes the connection to the model, and stores the text so far. */
  end(ending: Ending): Promise<void> {
    this.#ending ??= ending
    this.#stopping.abort()
    return this.done
  }

  /** Leaves the queue for the model, so that another process can claim the answer. */
  release(): void {
    this.#stopping.abort()
  }

  async #run(): Promise<void> {
    const { reqId, answers, bill } = this.#options
    const ended = new AbortController()
    const logFailure = (error: unknown) => this.#logStoreFailure(error)
    void repeatUntil(ended.signal, () => this.#store(), logFailure)
    const ending = await this.#askInTurn()
    ended.abort()
    if (ending) {
      this.rendered.end(ending)
      await this.#storeEnd(ending)
    } else {
      await answers
        .release(reqId)
        .then(() => bill.settle(null))
        .catch(logFailure)
      this.rendered.detach()
    }
  }

  /** Resolves to `null` if it left the queue before its turn. */
  async #askInTurn(): Promise<Ending | null> {
    const { signal } = this.#stopping
    using ticket = this.#options.ticket
    if (!(await ticket.turn(signal)) || signal.aborted) return this.#ending
    this.#isWaiting = false
    const { model, prompt, trace } = this.#options
    const onUsage = (usage: Usage) => {
      this.#usage = usage
    }
    try {
      for await (const piece of model.answer({ system: SYSTEM_INSTRUCTION, prompt, signal, onUsage, trace })) {
        if (this.#ending) break
        await this.rendered.append(piece)
        // Listeners that are ready get this piece before the next one replaces it.
        await turn()
      }
    } catch (error) {
      if (!signal.aborted) return this.#failed(error)
    }
    return this.#ending ?? { state: 'finished' }
  }

  #failed(error: unknown): Ending {
    const reason = error instanceof AnswerError ? error.message : INTERNAL_FAILURE
    log.warning('an answer failed: {cause}', { req_id: loggedId(this.#options.reqId), cause: String(error) })
    return { state: 'failed', reason }
  }

  async #store(): Promise<void> {
    const { reqId, answers, limits } = this.#options
    if (this.rendered.listeners > 0) this.#heardAt = systemClock.now()
    if (!this.#isDue()) return
    const isWaiting = this.#isWaiting
    const piece = this.#nextPiece()
    this.#unconfirmed = piece
    const reply = await answers.heartbeat(reqId, piece, isWaiting)
    this.#unconfirmed = null
    const wasAway = systemClock.now() - this.#stored.at > AWAY_MS
    this.#stored = {
      length: this.#stored.length + piece.text.length,
      codePoints: this.#stored.codePoints + countCodePoints(piece.text),
      isWaiting,
      at: systemClock.now(),
    }
    // While the store is away, listeners in other processes cannot tell that they listen.
    if (wasAway || (reply && reply.heard !== this.#heard)) this.#heardAt = systemClock.now()
    this.#heard = reply?.heard
    // Another process has declared this one dead.
    if (reply?.ending) void this.end(reply.ending)
    else if (reply?.stopRequested) void this.end({ state: 'stopped' })
    else if (systemClock.now() - this.#heardAt >= limits.unheardMaxMs) void this.end({ state: 'unheard' })
  }

  #isDue(): boolean {
    const { length, isWaiting, at } = this.#stored
    const hasNews = length !== this.rendered.text.length || isWaiting !== this.#isWaiting
    return hasNews || systemClock.now() - at >= HEARTBEAT_MS
  }

  /** The text since the last stored piece; an unconfirmed piece is sent again. Half a surrogate pair waits for the rest. */
  #nextPiece(): Piece {
    if (this.#unconfirmed) return this.#unconfirmed
    const { length, codePoints: position } = this.#stored
    const text = withoutHalf(this.rendered.text.slice(length))
    return { text: text.toWellFormed(), position }
  }

  async #storeEnd(ending: Ending): Promise<void> {
    const { reqId, answers, bill } = this.#options
    const startedAt = systemClock.now()
    for (let isFirst = true; systemClock.now() - startedAt < END_RETRY_MAX_MS; isFirst = false) {
      try {
        await answers.end(reqId, this.rendered.text.toWellFormed(), ending)
        return await bill.settle(this.#usage)
      } catch (error) {
        if (isFirst) this.#logStoreFailure(error)
        await pause(systemClock, END_RETRY_MS)
      }
    }
  }

  #logStoreFailure(error: unknown): void {
    log.error('an answer could not be stored: {reason}', {
      req_id: loggedId(this.#options.reqId),
      reason: errorMessage(error),
    })
  }
}
