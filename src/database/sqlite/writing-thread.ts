import type { FileCondition } from './condition.ts'
import { LOG_MAX_BYTES, READ_BUSY_MS } from './connection.ts'
import { isBusy } from './failure.ts'
import type { Step, Steps } from './steps.ts'
import { closeInPlace, type Opening, Thread } from './thread.ts'

const PAGE_CACHE_KIB = 16_384

/** Its commits do not wait for the disk: a read that shows one does. */
const WRITING: Opening = {
  mode: { readwrite: true },
  pragmas: [
    `busy_timeout = ${READ_BUSY_MS}`,
    'synchronous = NORMAL',
    `cache_size = -${PAGE_CACHE_KIB}`,
    'wal_autocheckpoint = 0',
    `journal_size_limit = ${LOG_MAX_BYTES}`,
  ],
}

/** A connection for writes that would hold up the event loop, in a thread of its own, which starts with the first one. */
export class WritingThread implements AsyncDisposable {
  readonly #path: string
  readonly #condition: FileCondition
  #thread: Thread | null = null

  constructor(path: string, condition: FileCondition) {
    this.#path = path
    this.#condition = condition
  }

  /**
   * Runs the work in a transaction, and commits it after the step `last`, if the work returns true: otherwise it has changed
   * nothing. Meanwhile no other write of this process may begin. Resolves to `busy` if another process holds the write lock.
   */
  async write(work: Steps<boolean>, last: () => Step): Promise<'done' | 'busy'> {
    this.#condition.mustBeSound()
    if (!this.#thread || this.#thread.hasEnded) this.#thread = new Thread(this.#path, WRITING)
    const thread = this.#thread
    try {
      await thread.all('BEGIN IMMEDIATE')
    } catch (error) {
      if (isBusy(error)) return 'busy'
      throw error
    }
    try {
      let next = work.next([])
      while (!next.done) next = work.next(await thread.each(next.value))
      if (next.value) await thread.each(last())
      // The thread may have opened another file, which was put in the place of this one.
      this.#condition.mustBeSound()
      await thread.all('COMMIT')
    } catch (error) {
      if (!thread.hasEnded) await thread.all('ROLLBACK').catch(() => {})
      await this[Symbol.asyncDispose]()
      throw error
    }
    // The log may have been removed during the commit, or another process may have found that the disk lost a part of it.
    this.#condition.mustBeSound()
    return 'done'
  }

  /** Ends the thread. */
  async [Symbol.asyncDispose](): Promise<void> {
    const thread = this.#thread
    this.#thread = null
    await closeInPlace(thread, this.#condition)
  }
}
