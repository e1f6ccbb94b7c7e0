import type { SQLiteError } from 'bun:sqlite'
import { DatabaseUnavailableError } from '../errors.ts'
import type { FileCondition } from './condition.ts'
import { type Parameter, withPlus } from './connection.ts'
import type { Step } from './steps.ts'
import script from './thread.worker.js' with { type: 'text' }

/** The longest timer, for statements of a writing connection: to end its thread would not end its statement. */
const STATEMENT_ENDLESS_MS = 2_147_483_647

/** How a thread opens the file. */
export interface Opening {
  readonly mode: { readonly readonly: true } | { readonly readwrite: true }
  readonly pragmas: readonly string[]
}

/** The answer of the worker: rows, or the fields of an error. */
type Answer = { readonly rows: unknown[] } | { readonly error: Pick<SQLiteError, 'name' | 'message'> }

/**
 * A connection in a thread of its own, for statements that would hold up the event loop. It opens the file with its first
 * statement, and does not keep the process alive.
 */
export class Thread {
  /** Resolves when its connection is closed. */
  readonly ended: Promise<void>
  /** Whether it takes no more calls. */
  hasEnded = false
  readonly #worker: Worker
  readonly #path: string
  readonly #opening: Opening
  readonly #statementMaxMs: number
  #call: PromiseWithResolvers<unknown[]> | null = null

  constructor(path: string, opening: Opening, statementMaxMs = STATEMENT_ENDLESS_MS) {
    this.#path = path
    this.#opening = opening
    this.#statementMaxMs = statementMaxMs
    // The executable contains the script as text only.
    const url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }))
    this.#worker = new Worker(url)
    this.#worker.unref()
    this.#worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      if ('rows' in data) this.#call?.resolve(data.rows)
      // It counts as an error of SQLite by its name.
      else this.#call?.reject(Object.assign(new Error(data.error.message), data.error))
    }
    this.#worker.onerror = ({ message }) =>
      this.end(new DatabaseUnavailableError(`a thread of the database failed: ${message}`))
    const { promise, resolve } = Promise.withResolvers<void>()
    this.ended = promise
    this.#worker.addEventListener('close', () => {
      URL.revokeObjectURL(url)
      this.end(new DatabaseUnavailableError('a thread of the database ended'))
      resolve()
    })
  }

  /**
   * Runs the statement and resolves to its rows; call it again only after that. Rejects with a `DatabaseUnavailableError` if the
   * thread ends or the statement takes too long.
   */
  all(sql: string, parameters: readonly Parameter[] = []): Promise<unknown[]> {
    return this.each({ sql, each: [parameters] })
  }

  /** Like `all`, for a step of a longer work. */
  async each({ sql, each }: Step): Promise<unknown[]> {
    this.#call = Promise.withResolvers()
    // The timer also keeps the process alive meanwhile.
    const timer = setTimeout(
      () => this.end(new DatabaseUnavailableError('a statement took too long')),
      this.#statementMaxMs,
    )
    try {
      this.#worker.postMessage({ path: this.#path, ...this.#opening, sql: withPlus(sql), each })
      return await this.#call.promise
    } finally {
      clearTimeout(timer)
      this.#call = null
    }
  }

  /** Closes the connection after the statement. */
  close(): void {
    this.#worker.postMessage('close')
  }

  /**
   * Rejects the call, and ends the thread, after its statement. Its connection is closed with it, before which the runtime runs
   * `PRAGMA wal_checkpoint(TRUNCATE)`.
   */
  end(reason: unknown): void {
    this.hasEnded = true
    this.#call?.reject(reason)
    this.#worker.terminate()
  }
}

/** Closes it, unless somebody has replaced a file: at a close, SQLite would then copy the log of one database into the other. */
export async function closeInPlace(thread: Thread | null, condition: FileCondition): Promise<void> {
  try {
    condition.mustBeInPlace()
  } catch {
    return
  }
  thread?.close()
  await thread?.ended
}
