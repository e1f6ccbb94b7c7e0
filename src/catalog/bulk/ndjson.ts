import { errorAt, fault, type ValidationError } from '../http/validation/errors.ts'
import { readJson } from '../http/validation/json.ts'
import { BODY_MAX_BYTES } from '../http/validation/request.ts'

/** A line of a file: its value, or why it cannot be parsed. */
export type Line = { readonly number: number } & (
  | { readonly value: unknown }
  | { readonly errors: readonly ValidationError[] }
)

/** Length limit of a line: enough for every resource that the API accepts, with its id and flags. */
export const LINE_MAX_BYTES = BODY_MAX_BYTES + 4_096

const LINE_FEED = 0x0a
const OPENING_BRACE = 0x7b

/**
 * Reads NDJSON, one JSON value per line. Blank lines are skipped, but counted. Chunks may end anywhere. Once it is enough, it
 * reads on, but yields no further lines.
 */
export async function* ndjsonLines(
  chunks: AsyncIterable<Uint8Array>,
  isEnough = () => false,
): AsyncGenerator<readonly Line[]> {
  let number = 1
  for await (const bytes of wholeLines(chunks)) {
    if (isEnough()) continue
    const lines: Line[] = []
    let start = 0
    while (start <= bytes.length) {
      const lineFeed = bytes.indexOf(LINE_FEED, start)
      const end = lineFeed === -1 ? bytes.length : lineFeed
      const line = lineOf(bytes.subarray(start, end), number)
      if (line) lines.push(line)
      number += 1
      start = end + 1
    }
    yield lines
  }
}

/** Joins chunks so that each ends with a line. */
async function* wholeLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array[] = []
  let restBytes = 0
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(LINE_FEED)
    // Only the beginning of a line that is too long is kept, enough to detect it.
    if (restBytes <= LINE_MAX_BYTES || end !== -1) rest.push(end === -1 ? chunk : chunk.subarray(0, end))
    restBytes += chunk.length
    if (end === -1) continue
    yield rest.length === 1 ? chunk.subarray(0, end) : Buffer.concat(rest)
    rest = [chunk.subarray(end + 1)]
    restBytes = chunk.length - end - 1
  }
  if (restBytes > 0) yield Buffer.concat(rest)
}

const lenient = new TextDecoder()

function lineOf(bytes: Uint8Array, number: number): Line | null {
  if (bytes.length === 0) return null
  if (bytes.length > LINE_MAX_BYTES) return { number, errors: [tooLong] }
  // Not when it has been parsed in vain, which takes many times as long: there may be millions of blank lines.
  if (bytes[0] !== OPENING_BRACE && lenient.decode(bytes).trim() === '') return null
  const json = readJson(bytes)
  if ('value' in json) return { number, value: json.value }
  return { number, errors: [errorAt(['body', json.errorOffset], fault.notJson)] }
}

const tooLong = errorAt(['body'], fault.value(`the line is longer than ${LINE_MAX_BYTES} bytes`))
