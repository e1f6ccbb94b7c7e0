import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OperatorError } from '../../program/operator-error.ts'
import { csvLines } from '../bulk/csv.ts'
import type { Loader, NewRow } from '../bulk/load.ts'
import { ndjsonLines } from '../bulk/ndjson.ts'
import { PasswordHashes } from '../bulk/password-hashes.ts'
import type { BulkResource } from '../bulk/resources.ts'
import { type BadLine, rowsOf, storeRows, WrongLinesError } from '../bulk/rows.ts'
import { RequestBodies } from '../http/request-bodies.ts'
import type { PasswordHasher } from '../users/password.ts'

/** Limits on a file, and on all files that are being imported, which wait on the disk. */
const FILE_MAX_BYTES = 268_435_456
const FILES_MAX_BYTES = 536_870_912

/** An import with this many wrong lines stops. */
const BAD_LINES_MAX = 1_000

const REPORT_MS = 100

export const importBodies = () => new RequestBodies({ bodyMaxBytes: FILE_MAX_BYTES, maxBytes: FILES_MAX_BYTES })

/** How an import ended. */
export interface Outcome {
  readonly imported: number
  /** If there are any, nothing was stored. */
  readonly wrong: readonly { readonly line: number; readonly field: string; readonly reason: string }[]
  /** Columns of a CSV file that no field has. */
  readonly ignored: readonly string[]
  /** Why the file could not be read at all. */
  readonly failure: string | null
}

/** Is told how many lines are stored. */
export type ReportStored = (stored: number, of: number) => void

export interface ImportedFile {
  readonly resource: BulkResource
  readonly format: 'csv' | 'ndjson'
  readonly chunks: AsyncIterable<Uint8Array>
  readonly signal: AbortSignal
}

interface Means {
  readonly loader: Loader
  readonly hashPassword: PasswordHasher
}

/**
 * Checks every line while the file arrives, and keeps the rows on the disk: a slow browser must not keep others from writing. Then
 * it stores all of them in one transaction, or none.
 */
export async function importFile(file: ImportedFile, means: Means, report: ReportStored): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'stockroom-import-'))
  const chunks = continuable(file.chunks)
  try {
    return await new FileImport({ ...file, chunks }, means, throttled(report), join(folder, 'rows.ndjson')).run()
  } catch (error) {
    if (!(error instanceof WrongLinesError || error instanceof OperatorError)) throw error
    // A browser reads the answer only after it has sent the whole file.
    for await (const _ of chunks);
    return error instanceof OperatorError
      ? outcome({ failure: error.message })
      : outcome({ wrong: reasonsOf(error.lines) })
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** The same chunks, which can be read on after a loop over them has ended early. */
function continuable(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  return { [Symbol.asyncIterator]: () => ({ next: () => iterator.next() }) }
}

class FileImport {
  readonly #file: ImportedFile
  readonly #means: Means
  readonly #report: ReportStored
  /** Where the checked rows wait. */
  readonly #path: string
  readonly #ignored: string[] = []

  constructor(file: ImportedFile, means: Means, report: ReportStored, path: string) {
    this.#file = file
    this.#means = means
    this.#report = report
    this.#path = path
  }

  async run(): Promise<Outcome> {
    const { lines, bad } = await this.#check()
    if (bad.length >= BAD_LINES_MAX || bad.length === lines) {
      if (bad.length > 0) throw new WrongLinesError(bad)
      return outcome({ ignored: this.#ignored })
    }
    await this.#means.loader.load(async load => {
      const { resource, signal } = this.#file
      let done = 0
      for await (const { rows, numbers } of this.#checked()) {
        signal.throwIfAborted()
        const stored = await storeRows(load, resource, { rows, numbers, bad: [] })
        bad.push(...stored.bad)
        if (bad.length >= BAD_LINES_MAX) break
        done += rows.length
        this.#report(done, lines)
      }
      if (bad.length > 0) throw new WrongLinesError(bad)
      await load.complete()
    })
    return outcome({ imported: lines, ignored: this.#ignored })
  }

  /** Writes the good rows to the disk, with hashes instead of passwords. */
  async #check(): Promise<{ lines: number; bad: BadLine[] }> {
    const { resource, signal } = this.#file
    const hashes = new PasswordHashes(password => this.#means.hashPassword(password, signal))
    const writer = Bun.file(this.#path).writer()
    const bad: BadLine[] = []
    let lines = 0
    try {
      for await (const some of this.#lines()) {
        const read = await rowsOf(resource, some, hashes)
        bad.push(...read.bad)
        if (bad.length >= BAD_LINES_MAX) break
        for (const [place, row] of read.rows.entries()) writer.write(`${JSON.stringify([read.numbers[place], row])}\n`)
        await writer.flush()
        lines += some.length
      }
    } finally {
      await writer.end()
    }
    return { lines, bad }
  }

  #lines() {
    const { resource, format, chunks } = this.#file
    const ignored = (columns: readonly string[]) => this.#ignored.push(...columns)
    return format === 'csv' ? csvLines(chunks, { resource, ignored }) : ndjsonLines(chunks)
  }

  async *#checked() {
    let rest = ''
    for await (const text of Bun.file(this.#path).stream().pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      const read: [number: number, row: NewRow][] = lines.map(line => JSON.parse(line))
      if (read.length > 0) yield { rows: read.map(([, row]) => row), numbers: read.map(([number]) => number) }
    }
  }
}

function outcome(told: Partial<Outcome>): Outcome {
  return { imported: 0, wrong: [], ignored: [], failure: null, ...told }
}

function reasonsOf(lines: readonly BadLine[]): Outcome['wrong'] {
  const ordered = lines.toSorted((one, other) => one.number - other.number)
  return ordered.slice(0, BAD_LINES_MAX).flatMap(({ number, errors }) =>
    errors.map(({ loc: [, place], msg }) => ({
      line: number,
      field: typeof place === 'string' ? place : '',
      reason: msg.replace(/^Value error, /, ''),
    })),
  )
}

function throttled(report: ReportStored): ReportStored {
  let last = Number.NEGATIVE_INFINITY
  return (stored, of) => {
    const now = performance.now()
    if (now - last < REPORT_MS && stored !== of) return
    last = now
    report(stored, of)
  }
}
