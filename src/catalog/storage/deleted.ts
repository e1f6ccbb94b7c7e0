import { setImmediate as turn } from 'node:timers/promises'
import { BusyError } from '../../busy-error.ts'
import { ByteBudget } from '../../byte-budget.ts'
import type { Representation } from '../representation.ts'
import type { Changed } from './store.ts'

/** Limit on deleted heavy resources held for their clients. Beyond it, no further one is deleted. */
const HELD_MAX_BYTES = 67_108_864

/** Time limit for a client to read the resource that it has deleted. */
const HELD_MAX_MS = 60_000

export const deletedResources = new ByteBudget(HELD_MAX_BYTES)

/**
 * Deletes a heavy resource and resolves to its last representation, which is held in memory, because it can no longer be read
 * when the response is sent. `transaction` reads the resource, passes it to `hold`, deletes it and commits. Rejects with a
 * `BusyError`, and deletes nothing, while too much is held already.
 */
export async function deleteHeavy(
  transaction: (hold: (found: Representation) => Promise<Representation>) => Promise<Representation | Changed | null>,
): Promise<Representation | Changed | null> {
  if (deletedResources.isSpent) throw new BusyError('Too many large resources are being deleted')
  const held = new HeldTexts()
  try {
    const found = await transaction(async ({ rest, ...beginning }) => {
      held.release()
      for await (const text of rest?.() ?? []) {
        held.add(text)
        // Other requests run in between.
        await turn()
      }
      return { ...beginning, rest: () => held.taken(), release: () => held.release() }
    })
    if (found && found !== 'changed') held.releaseLater()
    else held.release()
    return found
  } catch (error) {
    held.release()
    throw error
  }
}

class HeldTexts {
  /** As bytes, which take half the memory of some strings. */
  #texts: Buffer[] = []
  #isOver = false
  #timer: ReturnType<typeof setTimeout> | undefined

  add(text: string): void {
    const bytes = Buffer.from(text)
    this.#texts.push(bytes)
    deletedResources.hold(bytes.length)
  }

  /** Releases each text as it is taken. */
  async *taken(): AsyncGenerator<string> {
    for (let bytes = this.#texts.shift(); bytes; bytes = this.#texts.shift()) {
      deletedResources.release(bytes.length)
      yield bytes.toString()
      if (this.#isOver) throw new Error(`a client took more than ${HELD_MAX_MS / 1_000} s to read the deleted resource`)
    }
    this.release()
  }

  releaseLater(): void {
    this.#timer = setTimeout(() => {
      this.#isOver = this.#texts.length > 0
      this.release()
    }, HELD_MAX_MS)
    this.#timer.unref()
  }

  release(): void {
    clearTimeout(this.#timer)
    for (const { length } of this.#texts) deletedResources.release(length)
    this.#texts = []
  }
}
