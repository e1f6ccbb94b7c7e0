import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getLogger } from '@logtape/logtape'
import { linesOf } from '../../lines.ts'
import { errorMessage } from '../../program/error-message.ts'
import { OperatorError } from '../../program/operator-error.ts'
import { RequestBodies } from '../../server/request-bodies.ts'
import type { Means } from '../bulk/creation.ts'
import { fileLines } from '../bulk/file-lines.ts'
import type { NewRow } from '../bulk/load.ts'
import { hashingPasswords } from '../bulk/password-hashes.ts'
import type { BulkResource } from '../bulk/resources.ts'
import { BAD_LINES_MAX, type BadLine, type CheckedRows, rowsOf, storeAllRows, WrongLinesError } from '../bulk/rows.ts'
import type { Format } from '../bulk/settings.ts'

const log = getLogger(['stockroom', 'server'])

/** Limits on a file, and on all files that are being imported, which wait on the disk. */
const FILE_MAX_BYTES = 268_435_456
const FILES_MAX_BYTES = 536_870_912

export const importBodies = () => new RequestBodies({ bodyMaxBytes: FILE_MAX_BYTES, maxBytes: FILES_MAX_BYTES })

/** How an import ended. */
export interface Outcome {
  readonly imported: number
  /** If there are any, nothing was stored. */
  readonly wrong?: readonly { readonly line: number; readonly field: string; readonly reason: string }[]
  /** Columns of a CSV file that no field has. */
  readonly ignored?: readonly string[]
  /** Why the file could not be read at all. */
  readonly failure?: string
}

/** Is told how many lines are stored. */
export type ReportStored = (stored: number, of: number) => void

export interface ImportedFile {
  readonly resource: BulkResource
  readonly format: Format
  readonly chunks: AsyncIterable<Uint8Array>
  readonly signal: AbortSignal
}

type ImportMeans = Pick<Means, 'loader' | 'hashPassword'>

/**
 * Checks every line while the file arrives, and keeps the rows on the disk: a slow browser must not keep others from writing. Then
 * it stores all of them in one transaction, or none.
 */
export async function importFile(file: ImportedFile, means: ImportMeans, report: ReportStored): Promise<Outcome> {
  const chunks = continuable(file.chunks)
  const ignored: string[] = []
  await using work = new AsyncDisposableStack()
  try {
    const folder = await mkdtemp(join(tmpdir(), 'stockroom-import-'))
    work.defer(() => rm(folder, { recursive: true, force: true }))
    const rows = work.use(await open(join(folder, 'rows.ndjson'), 'wx+', 0o600))
    // Without a name, nothing stays on the disk if the process is killed. Windows keeps a file that is open.
    await rm(folder, { recursive: true }).catch(() => {})
    const checked = await check({ ...file, chunks }, means, rows, ignored)
    await store(file, means, checked, report)
    return { imported: checked.lines, ignored }
  } catch (error) {
    const refusal = refusalOf(error)
    if (!refusal) throw error
    // A browser reads the answer only after it has sent the whole file.
    for await (const _ of chunks);
    return refusal
  }
}

function refusalOf(error: unknown): Outcome | null {
  if (error instanceof WrongLinesError) return { imported: 0, wrong: reasonsOf(error.lines) }
  if (error instanceof OperatorError) return { imported: 0, failure: error.message }
  // Of the file that keeps the rows.
  if (!(error instanceof Error && 'syscall' in error)) return null
  log.error('a file cannot be imported, because there is no place for its rows: {reason}', {
    reason: errorMessage(error),
  })
  return { imported: 0, failure: 'The server has no place for the file on its disk' }
}

/** The same chunks, which can be read on after a loop over them has ended early. */
function continuable(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  return { [Symbol.asyncIterator]: () => ({ next: () => iterator.next() }) }
}

interface CheckedFile {
  /** The file with the good rows, each after the number of its line. */
  readonly rows: FileHandle
  readonly lines: number
  readonly bad: readonly BadLine[]
}

/** Writes the good rows to the disk, with hashes instead of passwords. */
async function check(
  { resource, format, chunks, signal }: ImportedFile,
  { hashPassword }: ImportMeans,
  rows: FileHandle,
  ignored: string[],
): Promise<CheckedFile> {
  const hashPasswords = hashingPasswords(password => hashPassword(password, signal))
  const ofFile = fileLines(chunks, format, { resource, ignored: columns => ignored.push(...columns) })
  const bad: BadLine[] = []
  let lines = 0
  for await (const some of ofFile) {
    const read = await rowsOf(resource, some, hashPasswords)
    bad.push(...read.bad)
    if (bad.length >= BAD_LINES_MAX) throw new WrongLinesError(bad)
    let good = ''
    for (const [place, row] of read.rows.entries()) good += `${JSON.stringify([read.numbers[place], row])}\n`
    await rows.appendFile(good)
    lines += some.length
  }
  if (lines === 0) throw new OperatorError('the file is empty: it has no lines to import')
  if (bad.length === lines) throw new WrongLinesError(bad)
  return { rows, lines, bad }
}

/** Stores all rows, or none if a line is wrong. */
function store(
  { resource, signal }: ImportedFile,
  { loader }: ImportMeans,
  { rows, lines, bad }: CheckedFile,
  report: ReportStored,
): Promise<void> {
  return loader(async load => {
    let done = 0
    for await (const ids of storeAllRows(load, resource, rowsIn(rows, bad, signal))) {
      done += ids.length
      report(done, lines)
    }
  })
}

async function* rowsIn(file: FileHandle, bad: readonly BadLine[], signal: AbortSignal): AsyncGenerator<CheckedRows> {
  if (bad.length > 0) yield { rows: [], numbers: [], bad }
  for await (const lines of linesOf(file.createReadStream({ start: 0, autoClose: false }))) {
    signal.throwIfAborted()
    const read: [number: number, row: NewRow][] = lines.map(line => JSON.parse(line))
    yield { rows: read.map(([, row]) => row), numbers: read.map(([number]) => number), bad: [] }
  }
}

function reasonsOf(lines: readonly BadLine[]): NonNullable<Outcome['wrong']> {
  const ordered = lines.toSorted((one, other) => one.number - other.number)
  return ordered.slice(0, BAD_LINES_MAX).flatMap(({ number, errors }) =>
    errors.map(({ loc: [, place], msg }) => ({
      line: number,
      field: typeof place === 'string' ? place : '',
      reason: msg.replace(/^Value error, /, ''),
    })),
  )
}
