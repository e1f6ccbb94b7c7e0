import { OperatorError } from '../../program/operator-error.ts'

/** Pictures, archives, the files of spreadsheets and UTF-16 have a zero among so many first bytes, and no text in UTF-8 has. */
const BEGINNING_BYTES = 1_024

/** The same chunks. Throws an `OperatorError` if the file has no text: otherwise, each of its lines would be wrong. */
export async function* textOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let before = 0
  for await (const chunk of chunks) {
    if (before < BEGINNING_BYTES && chunk.subarray(0, BEGINNING_BYTES - before).includes(0)) {
      throw new OperatorError('neither CSV nor NDJSON in UTF-8; save a spreadsheet as "CSV UTF-8"')
    }
    before += chunk.length
    yield chunk
  }
}
