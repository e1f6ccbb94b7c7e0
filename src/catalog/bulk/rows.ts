import { errorAt, fault, type ValidationError } from '../http/validation/errors.ts'
import { readBodyValue } from '../http/validation/request.ts'
import type { Load, NewRow } from './load.ts'
import type { Line } from './ndjson.ts'
import type { HashPasswords } from './password-hashes.ts'
import type { BulkResource } from './resources.ts'

/** Limit on the wrong lines that are reported. A load that stores all rows or none stops there. */
export const BAD_LINES_MAX = 1_000

/** A line that cannot be stored, with all its errors; `loc` begins with `body`. */
export interface BadLine {
  readonly number: number
  readonly errors: readonly ValidationError[]
}

/** Ends a load whose lines are all refused because some are wrong. */
export class WrongLinesError extends Error {
  override name = 'WrongLinesError'
  readonly lines: readonly BadLine[]

  constructor(lines: readonly BadLine[]) {
    super('lines are wrong')
    this.lines = lines
  }
}

/** Rows that are ready to be stored. */
export interface CheckedRows {
  readonly rows: readonly NewRow[]
  /** The line of each row. */
  readonly numbers: readonly number[]
  readonly bad: readonly BadLine[]
}

/** Validates lines like request bodies, up to so many wrong ones. */
export async function rowsOf(
  resource: BulkResource,
  lines: readonly Line[],
  hashPasswords: HashPasswords,
  badMax = BAD_LINES_MAX,
): Promise<CheckedRows> {
  const rows: NewRow[] = []
  const numbers: number[] = []
  const bad: BadLine[] = []
  for (const line of lines) {
    // One chunk may have tens of thousands.
    if (bad.length >= badMax) break
    const read = 'errors' in line ? line : readBodyValue(resource.line, line.value)
    if ('errors' in read) bad.push({ number: line.number, errors: read.errors })
    else {
      rows.push(read.value)
      numbers.push(line.number)
    }
  }
  return { rows: resource.stored.table === 'users' ? await hashPasswords(rows) : rows, numbers, bad }
}

/** Stores rows. Returns their ids and the lines that were not stored, both in order. */
export async function storeRows(
  load: Load,
  { stored }: BulkResource,
  { rows, numbers, bad }: CheckedRows,
): Promise<{ ids: readonly number[]; bad: readonly BadLine[] }> {
  const { ids, misfits } = await load.store(stored, rows)
  if (misfits.size === 0) return { ids, bad }
  const wrong = [...misfits].map(([place, { column, reason }]) => ({
    number: numbers[place] ?? 0,
    errors: [errorAt(['body', column], fault.value(reason))],
  }))
  return { ids, bad: [...bad, ...wrong].toSorted((one, other) => one.number - other.number) }
}

/** Stores all rows, yields their ids, and completes the load. Throws a `WrongLinesError`, which ends it, if a line is wrong. */
export async function* storeAllRows(
  load: Load,
  resource: BulkResource,
  read: Iterable<CheckedRows> | AsyncIterable<CheckedRows>,
): AsyncGenerator<readonly number[]> {
  const wrong: BadLine[] = []
  for await (const rows of read) {
    const { ids, bad } = await storeRows(load, resource, rows)
    wrong.push(...bad)
    if (wrong.length >= BAD_LINES_MAX) break
    yield ids
  }
  if (wrong.length > 0) throw new WrongLinesError(wrong)
  await load.complete()
}
