import { OperatorError } from '../../program/operator-error.ts'
import { type CsvOptions, csvLines } from './csv.ts'
import { type Line, ndjsonLines } from './ndjson.ts'
import type { Format } from './settings.ts'

/** Pictures, archives, the files of spreadsheets and UTF-16 have a zero among so many first bytes, and no text in UTF-8 has. */
const BEGINNING_BYTES = 1_024

/** The lines of a file, a few at a time. Throws an `OperatorError` if it cannot be read as a whole. */
export function fileLines(
  chunks: AsyncIterable<Uint8Array>,
  format: Format,
  options: CsvOptions,
): AsyncGenerator<readonly Line[]> {
  const text = textOf(chunks, format)
  return format === 'csv' ? csvLines(text, options) : ndjsonLines(text)
}

/**
 * The same chunks. Throws an `OperatorError` if the file has no text, or is a JSON array: otherwise, each of its lines would be
 * wrong.
 */
async function* textOf(chunks: AsyncIterable<Uint8Array>, format: Format): AsyncGenerator<Uint8Array> {
  let before = 0
  for await (const chunk of chunks) {
    const beginning = chunk.subarray(0, Math.max(0, BEGINNING_BYTES - before))
    if (beginning.includes(0)) {
      throw new OperatorError('neither CSV nor NDJSON in UTF-8; save a spreadsheet as "CSV UTF-8"')
    }
    if (before === 0 && format === 'ndjson' && /^\s*\[\s*\{/.test(new TextDecoder().decode(beginning))) {
      throw new OperatorError("a JSON array, and NDJSON has one object per line; jq -c '.[]' makes NDJSON of it")
    }
    before += chunk.length
    yield chunk
  }
}
