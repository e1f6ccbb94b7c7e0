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

/** Reads NDJSON, one JSON value per line. Blank lines are skipped, but counted. Chunks may end anywhere. */
export async function* ndjsonLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Line[]> {
  let number = 1
  for await (const bytes of wholeLines(chunks)) {
    const lines: Line[] = []
    for (const text of textsOf(bytes)) {
      const line = lineOf(text, number)
      if (line) lines.push(line)
      number += 1
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

const strict = new TextDecoder('utf-8', { fatal: true })

/** The lines as text, or as bytes if they are not UTF-8. */
function textsOf(bytes: Uint8Array): readonly (string | Uint8Array)[] {
  const text = decoded(bytes)
  if (typeof text === 'string') return text.split('\n')
  const lines: (string | Uint8Array)[] = []
  let start = 0
  for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
    lines.push(decoded(bytes.subarray(start, end)))
    start = end + 1
  }
  return [...lines, decoded(bytes.subarray(start))]
}

function decoded(bytes: Uint8Array): string | Uint8Array {
  try {
    return strict.decode(bytes)
  } catch {
    return bytes
  }
}

function lineOf(text: string | Uint8Array, number: number): Line | null {
  if (text.length > LINE_MAX_BYTES) return { number, errors: [tooLong] }
  if (typeof text === 'string') {
    if (text === '') return null
    try {
      return { number, value: JSON.parse(text) }
    } catch {
      if (text.trim() === '') return null
    }
  }
  const json = readJson(typeof text === 'string' ? new TextEncoder().encode(text) : text)
  return 'value' in json
    ? { number, value: json.value }
    : { number, errors: [errorAt(['body', json.errorOffset], fault.notJson)] }
}

const tooLong: ValidationError = {
  loc: ['body'],
  ...fault.value(`the line is longer than ${LINE_MAX_BYTES} bytes`).params,
}
