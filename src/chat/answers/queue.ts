import { BusyError, ClientLimitError } from '../../limits/busy-error.ts'
import { FairQueue } from '../../limits/fair-queue.ts'
import { Tally } from '../../limits/tally.ts'
import type { AnswerLimits } from './limits.ts'

/** Clients are asked to wait this long when no more answers can begin. */
export const RETRY_AFTER_SECONDS = 5

/** One client never holds all places, however many of its answers wait, unless there is only one place. */
const RUNNING_SHARE_MAX = 3 / 4

/** An answer's entry in the queue. Disposing of it leaves the queue, or frees the answer's place at the model. */
export interface Ticket extends Disposable {
  /** Resolves to true when the model may be asked, or to false if the signal is aborted first. */
  turn(signal: AbortSignal): Promise<boolean>
}

export interface QueueFigures {
  readonly running: number
  readonly waiting: number
}

/**
 * Opens the queue of the answers that wait for the model or run, fairly shared between clients. The result enters an answer
 * of an address, unless it throws a `BusyError`, and tells how many there are.
 */
export function openAnswerQueue({ runningMax, waitingMax, perAddressMax }: AnswerLimits) {
  const places = new FairQueue(runningMax, Math.max(1, Math.floor(runningMax * RUNNING_SHARE_MAX)))
  const tickets = new Tally()
  const figures = (): QueueFigures => ({ running: places.held, waiting: tickets.total - places.held })
  const enter = (address: string): Ticket => {
    if (tickets.of(address) >= perAddressMax) {
      throw new ClientLimitError('Too many answers to your address are under way', RETRY_AFTER_SECONDS)
    }
    if (tickets.total >= runningMax + waitingMax) {
      throw new BusyError('Too many answers are waiting', RETRY_AFTER_SECONDS)
    }
    const held = new DisposableStack()
    held.use(tickets.add(address))
    return {
      turn: async signal => {
        const place = await places.take(signal, address).catch(() => null)
        if (place) held.use(place)
        return place !== null
      },
      [Symbol.dispose]: () => held.dispose(),
    }
  }
  return { enter, figures }
}
